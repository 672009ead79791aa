package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.execution.datasources.FileFormat
import org.apache.spark.sql.execution.datasources.csv.CSVFileFormat
import org.apache.spark.sql.execution.datasources.json.JsonFileFormat
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.execution.datasources.text.TextFileFormat

/** Maps each file format of Spark to its rule. The engine reads a format if it has a rule and the manifest lists it. */
object FileFormats {

  private val rules: Map[Class[_ <: FileFormat], FileFormatRule] = Map(
    classOf[CSVFileFormat] -> CsvRule,
    classOf[JsonFileFormat] -> JsonRule,
    classOf[OrcFileFormat] -> OrcRule,
    classOf[ParquetFileFormat] -> ParquetRule,
    classOf[TextFileFormat] -> TextRule)

  /** Return the rule of exactly this class, not of a class that it extends; None if the engine does not read it. */
  def of(format: FileFormat): Option[FileFormatRule] =
    rules.get(format.getClass).filter(rule => Manifest.formats.contains(rule.name))
}
