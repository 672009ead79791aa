package org.apache.spark.sql.pysparkpipeline

import java.io.{FileNotFoundException, IOException}
import java.util.{IllegalFormatConversionException, MissingFormatArgumentException}

import scala.util.Try

import com.fasterxml.jackson.databind.JsonNode

import org.apache.hadoop.fs.Path
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.util.HadoopInputFile

import org.apache.spark._
import org.apache.spark.deploy.SparkHadoopUtil
import org.apache.spark.shuffle.FetchFailedException
import org.apache.spark.sql.AnalysisException
import org.apache.spark.sql.catalyst.trees.Origin
import org.apache.spark.sql.errors.QueryExecutionErrors
import org.apache.spark.sql.execution.datasources.{DataSourceUtils, SchemaColumnConvertNotSupportedException}
import org.apache.spark.sql.execution.datasources.v2.FileDataSourceV2
import org.apache.spark.util.Utils

/** Converts an error message of a worker into the exception that vanilla Spark would raise. */
object ErrorBridge {

  /** The number of the query context of expressions that Spark adds to a query. */
  private val EmptyContext = -2

  private type Maker = (String, Map[String, String], Array[QueryContext], String) => Throwable

  private val makers: Map[String, Maker] = Map(
    "AnalysisException" -> ((c, p, _, _) => new AnalysisException(c, p)),
    "ArithmeticException" -> ((_, p, _, _) => new ArithmeticException(p("message"))),
    "ArrayIndexOutOfBoundsException" -> ((_, p, _, _) => new ArrayIndexOutOfBoundsException(p("message"))),
    "GeneralSecurityException" -> ((_, p, _, _) => AuthenticationFailure.of(p("length").toInt)),
    "IllegalArgumentException" -> ((_, p, _, _) => new IllegalArgumentException(p("message"))),
    "IllegalFormatConversionException" -> ((_, p, _, _) =>
      new IllegalFormatConversionException(p("conversion").head, Utils.classForName[AnyRef](p("class")))),
    "MissingFormatArgumentException" -> ((_, p, _, _) => new MissingFormatArgumentException(p("specifier"))),
    "SparkArithmeticException" -> ((c, p, q, s) => new SparkArithmeticException(c, p, q, s)),
    "SparkDateTimeException" -> ((c, p, q, s) => new SparkDateTimeException(c, p, q, s)),
    "SparkException" -> ((c, p, _, _) => new SparkException(c, p, null)),
    "SparkNumberFormatException" -> ((c, p, q, s) => new SparkNumberFormatException(c, p, q, s)),
    "SparkIllegalArgumentException" -> ((c, p, q, s) => new SparkIllegalArgumentException(c, p, q, s, null)),
    "SparkArrayIndexOutOfBoundsException" ->
      ((c, p, q, s) => new SparkArrayIndexOutOfBoundsException(c, p, q, s)),
    "SparkRuntimeException" -> ((c, p, q, s) => new SparkRuntimeException(c, p, null, q, s)))

  /** `contexts`: those of the fragment's expressions; `expressions`: those that Spark evaluates for the worker. */
  def exception(
      error: JsonNode,
      contexts: Array[QueryContext],
      expressions: Option[ExpressionServer]): Throwable = error.path("kind").asText match {
    case "condition" =>
      val context = error.path("context").asInt(-1) match {
        case EmptyContext => Some(Origin().context)
        case index => contexts.lift(index)
      }
      val condition = text(error, "condition")
      val sent = Manifest.fields(error.path("parameters")).map { case (k, v) => k -> v.asText }
      makers.getOrElse(text(error, "exception"), makers("SparkRuntimeException"))(
        condition, worded(condition, sent), context.toArray, context.map(_.summary()).getOrElse(""))
    case "jvm" if expressions.isDefined => expressions.get.failure(error.path("number").asInt)
    case "corruptFile" => QueryExecutionErrors.cannotReadFilesError(new IOException(message(error)), file(error))
    case "footer" => FileDataSourceV2.attachFilePath(file(error), footerError(error))
    case "duplicateColumn" =>
      QueryExecutionErrors.cannotReadFilesError(
        QueryExecutionErrors.foundDuplicateFieldInCaseInsensitiveModeError(text(error, "wanted"), text(error, "found")),
        file(error))
    case "missingFile" =>
      QueryExecutionErrors.fileNotExistError(
        file(error), new FileNotFoundException(s"File ${localPath(error)} does not exist"))
    case "columnType" =>
      val (column, expected, found) = (text(error, "column"), text(error, "expected"), text(error, "found"))
      QueryExecutionErrors.parquetColumnDataTypeMismatchError(file(error), column, expected, found,
        new SchemaColumnConvertNotSupportedException(column, found, expected))
    case "ancientDatetime" => DataSourceUtils.newRebaseExceptionInWrite(text(error, "format"))
    case "shuffleBlock" => // its constructor registers the failure with the task
      new FetchFailedException(SparkEnv.get.blockManager.shuffleServerId, error.path("shuffle").asInt,
        error.path("map").asLong, error.path("mapIndex").asInt, error.path("reduce").asInt, message(error))
    case _ => new SparkException(message(error))
  }

  /** The parameters in the words of the running Spark: Spark 4.3 shortens "long overflow" to "overflow". */
  private def worded(condition: String, parameters: Map[String, String]): Map[String, String] =
    if (condition != "ARITHMETIC_OVERFLOW") parameters
    else QueryExecutionErrors.arithmeticOverflowError(parameters("message")) match {
      case own: SparkThrowable => parameters.updated("message", own.getMessageParameters.get("message"))
    }

  private def text(error: JsonNode, name: String): String = error.path(name).asText

  private def message(error: JsonNode): String = text(error, "message")

  /** What parquet-mr, which Spark reads with, raises for a footer that the worker cannot read. */
  private def footerError(error: JsonNode): Throwable =
    Try(ParquetFileReader.open(HadoopInputFile.fromPath(localPath(error), SparkHadoopUtil.get.conf)).close())
      .failed.getOrElse(new IOException(message(error)))

  private def localPath(error: JsonNode): Path = new Path("file", null, text(error, "path"))

  /** Return the file's name as Spark's scan writes it: an encoded URI. */
  private def file(error: JsonNode): String = new Path("file", "", text(error, "path")).toUri.toString
}
