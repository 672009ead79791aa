package org.apache.spark.sql.pysparkpipeline

import java.util.Locale

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.hadoop.io.compress.{CompressionCodecFactory, GzipCodec}
import org.apache.hadoop.mapreduce.lib.input.LineRecordReader

import org.apache.spark.sql.catalyst.expressions.PlanExpression
import org.apache.spark.sql.execution.FileSourceScanExec

/** What the formats of lines have in common: their files are not compressed or gzip, and Hadoop cuts the lines. */
object LineFiles {

  private val Gzip = ".gz"

  /** The files that Spark 4.3 reads entry by entry. */
  private val Archives = Seq(".tar", ".tar.gz", ".tgz", ".zip", ".7z")

  /** Return the reason why the engine does not find the lines of the files; `label` names the format. */
  def limitation(scan: FileSourceScanExec, label: String): Option[String] = {
    val hadoop = scan.session.sessionState.newHadoopConfWithOptions(scan.relation.options)
    if (hadoop.get(LineRecordReader.MAX_LINE_LENGTH) != null) {
      Some(s"$label read with ${LineRecordReader.MAX_LINE_LENGTH} is not supported")
    } else compression(scan, hadoop)
  }

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
