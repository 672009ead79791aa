package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap
import org.apache.spark.sql.execution.FileSourceScanExec

/** Text files of lines. */
object TextRule extends FileFormatRule {

  private val Separator = "lineSep"

  override val name: String = "text"

  override def limitation(scan: FileSourceScanExec): Option[String] = {
    val options = CaseInsensitiveMap(scan.relation.options)
    if (options.get("wholetext").exists(_.equalsIgnoreCase("true"))) {
      Some("text read with wholetext=true is not supported")
    } else if (options.get(Separator).exists(s => s.length != 1 || s.head >= 128 || options.contains("encoding"))) {
      Some(s"text read with another $Separator than one ASCII character is not supported")
    } else LineFiles.limitation(scan, "text")
  }

  override def options(scan: FileSourceScanExec): Map[String, String] =
    CaseInsensitiveMap(scan.relation.options).get(Separator).map(Separator -> _).toMap
}
