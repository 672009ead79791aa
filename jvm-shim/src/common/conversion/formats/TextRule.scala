package org.apache.spark.sql.pysparkpipeline

import java.util.Locale

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.hadoop.io.compress.{CompressionCodecFactory, GzipCodec}
import org.apache.hadoop.mapreduce.lib.input.LineRecordReader

import org.apache.spark.sql.catalyst.expressions.PlanExpression
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap
import org.apache.spark.sql.execution.FileSourceScanExec

/** Text files of lines, that are not compressed or gzip. */
object TextRule extends FileFormatRule {

  private val Separator = "lineSep"
  private val Gzip = ".gz"

  /** The files that Spark 4.3 reads entry by entry. */
  private val Archives = Seq(".tar", ".tar.gz", ".tgz", ".zip", ".7z")

  override val name: String = "text"

  override def limitation(scan: FileSourceScanExec): Option[String] = {
    val options = CaseInsensitiveMap(scan.relation.options)
    lazy val hadoop = scan.session.sessionState.newHadoopConfWithOptions(scan.relation.options)
    if (options.get("wholetext").exists(_.equalsIgnoreCase("true"))) {
      Some("text read with wholetext=true is not supported")
    } else if (options.get(Separator).exists(s => s.length != 1 || s.head >= 128 || options.contains("encoding"))) {
      Some(s"text read with another $Separator than one ASCII character is not supported")
    } else if (hadoop.get(LineRecordReader.MAX_LINE_LENGTH) != null) {
      Some(s"text read with ${LineRecordReader.MAX_LINE_LENGTH} is not supported")
    } else compression(scan, hadoop)
  }

  override def options(scan: FileSourceScanExec): Map[String, String] =
    CaseInsensitiveMap(scan.relation.options).get(Separator).map(Separator -> _).toMap

  /** Hadoop finds the codec of a file by its name. */
  private def compression(scan: FileSourceScanExec, hadoop: Configuration): Option[String] = {
    val codecs = new CompressionCodecFactory(hadoop)
    def isRead(path: Path): Boolean = {
      val lower = path.getName.toLowerCase(Locale.ROOT)
      val isGzip = Option(codecs.getCodec(path)).map(_.getClass == classOf[GzipCodec])
      !Archives.exists(lower.endsWith) && isGzip.getOrElse(true) && isGzip.isDefined == path.getName.endsWith(Gzip)
    }
    val known = scan.partitionFilters.filterNot(_.exists(_.isInstanceOf[PlanExpression[_]]))
    scan.relation.location.listFiles(known, scan.dataFilters).iterator.flatMap(_.files).map(_.getPath).find(!isRead(_))
      .map(path => s"the compression of ${path.getName} is not supported")
  }
}
