package org.apache.spark.sql.pysparkpipeline

import com.fasterxml.jackson.databind.JsonNode

import org.apache.spark._

/** Turns an error message of a worker into the exception vanilla Spark would have raised. */
object ErrorBridge {

  private type Maker = (String, Map[String, String], Array[QueryContext], String) => Throwable

  private val makers: Map[String, Maker] = Map(
    "SparkArithmeticException" -> ((c, p, q, s) => new SparkArithmeticException(c, p, q, s)),
    "SparkDateTimeException" -> ((c, p, q, s) => new SparkDateTimeException(c, p, q, s)),
    "SparkNumberFormatException" -> ((c, p, q, s) => new SparkNumberFormatException(c, p, q, s)),
    "SparkIllegalArgumentException" -> ((c, p, q, s) => new SparkIllegalArgumentException(c, p, q, s, null)),
    "SparkArrayIndexOutOfBoundsException" ->
      ((c, p, q, s) => new SparkArrayIndexOutOfBoundsException(c, p, q, s)),
    "SparkRuntimeException" -> ((c, p, q, s) => new SparkRuntimeException(c, p, null, q, s)))

  def exception(error: JsonNode, contexts: Array[QueryContext]): Throwable = error.path("kind").asText match {
    case "condition" =>
      val context = contexts.lift(error.path("context").asInt(-1))
      val parameters = Manifest.fields(error.path("parameters")).map { case (k, v) => k -> v.asText }
      makers.getOrElse(error.path("exception").asText, makers("SparkRuntimeException"))(
        error.path("condition").asText, parameters, context.toArray, context.map(_.summary()).getOrElse(""))
    case "corruptFile" =>
      new SparkException("FAILED_READ_FILE.NO_HINT", Map("path" -> error.path("path").asText),
        new java.io.IOException(error.path("message").asText))
    case _ => new SparkException(error.path("message").asText)
  }
}
