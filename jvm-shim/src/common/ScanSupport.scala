package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.util.ResolveDefaultColumns
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.internal.SQLConf

/** Says why the worker cannot read the files of a scan exactly as Spark does. */
object ScanSupport {

  private type Check = FileSourceScanExec => Option[String]

  private val LocalSchemes = Set("file", "")

  private val checks: Seq[Check] = Seq(format, location, options, dynamic, columns)

  def reason(scan: FileSourceScanExec, support: Support): Option[String] =
    checks.iterator.flatMap(_(scan)).nextOption().orElse(
      (scan.requiredSchema ++ scan.relation.partitionSchema).iterator
        .flatMap(f => support.typeReason(f.dataType, s"column ${f.name}")).nextOption())

  private def format(scan: FileSourceScanExec): Option[String] = scan.relation.fileFormat match {
    case f if f.getClass == classOf[ParquetFileFormat] => None
    case other => Some(s"scan of ${other.getClass.getSimpleName} is not supported")
  }

  private def location(scan: FileSourceScanExec): Option[String] =
    scan.relation.location.rootPaths.map(p => Option(p.toUri.getScheme).getOrElse(""))
      .find(s => !LocalSchemes(s)).map(s => s"files on $s: are not supported, only local files")

  private def options(scan: FileSourceScanExec): Option[String] = {
    val conf = scan.conf
    val set = scan.relation.options.map { case (k, v) => k.toLowerCase(java.util.Locale.ROOT) -> v }
    def option(name: String, default: => String): String = set.getOrElse(name.toLowerCase(java.util.Locale.ROOT), default)
    val wanted = Seq(
      ("ignoreCorruptFiles", option("ignoreCorruptFiles", conf.ignoreCorruptFiles.toString), "false"),
      ("ignoreMissingFiles", option("ignoreMissingFiles", conf.ignoreMissingFiles.toString), "false"),
      ("datetimeRebaseMode", option("datetimeRebaseMode",
        conf.getConf(SQLConf.PARQUET_REBASE_MODE_IN_READ).toString), "CORRECTED"),
      ("int96RebaseMode", option("int96RebaseMode",
        conf.getConf(SQLConf.PARQUET_INT96_REBASE_MODE_IN_READ).toString), "CORRECTED"),
      (SQLConf.PARQUET_FIELD_ID_READ_ENABLED.key, conf.parquetFieldIdReadEnabled.toString, "false"),
      (SQLConf.LEGACY_PARQUET_NANOS_AS_LONG.key, conf.legacyParquetNanosAsLong.toString, "false"),
      (SQLConf.PARQUET_INT96_TIMESTAMP_CONVERSION.key, conf.isParquetINT96TimestampConversion.toString, "false"))
    wanted.collectFirst { case (name, value, need) if !value.equalsIgnoreCase(need) =>
      s"Parquet read with $name=$value is not supported"
    }
  }

  private def dynamic(scan: FileSourceScanExec): Option[String] =
    if (scan.partitionFilters.exists(_.exists(DynamicPruning.isUnplanned))) {
      Some("dynamic partition pruning by an aggregation of its own is not supported")
    } else if (scan.outputOrdering.nonEmpty) {
      Some("a scan of sorted buckets is not supported")
    } else None

  private def columns(scan: FileSourceScanExec): Option[String] = {
    val expected = (scan.requiredSchema.map(_.name) ++ scan.relation.partitionSchema.map(_.name)).toList
    if (scan.output.map(_.name).toList != expected) {
      Some("metadata columns are not supported")
    } else {
      scan.requiredSchema.find(f =>
        f.metadata.contains(ResolveDefaultColumns.EXISTS_DEFAULT_COLUMN_METADATA_KEY))
        .map(f => s"column ${f.name} has a default value")
    }
  }
}
