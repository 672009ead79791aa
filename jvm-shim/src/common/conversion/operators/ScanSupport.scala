package org.apache.spark.sql.pysparkpipeline

import java.util.Locale

import org.apache.spark.sql.catalyst.util.ResolveDefaultColumns
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.types.{ArrayType, DataType, MapType, StructField, StructType}

/**
 * Checks whether the worker reads the files of a scan exactly as Spark does: what holds for every format, what the
 * manifest declares for this one, and what its [[FileFormatRule]] checks. A check returns the reason against the scan.
 */
object ScanSupport {

  private val General = Seq("ignoreCorruptFiles", "ignoreMissingFiles")
    .map(option => Manifest.RequiredSetting(s"spark.sql.files.$option", option, "false"))

  def isLocal(scheme: String): Boolean = scheme == null || scheme.isEmpty || scheme == "file"

  def reason(scan: FileSourceScanExec, support: Support): Option[String] =
    FileFormats.of(scan.relation.fileFormat) match {
      case None => Some(s"scan of ${scan.relation.fileFormat.getClass.getSimpleName} is not supported")
      case Some(rule) =>
        val format = Manifest.formats(rule.name)
        location(scan)
          .orElse((General ++ format.settings).flatMap(setting(scan, format.label, _)).headOption)
          .orElse(rule.limitation(scan))
          .orElse(dynamic(scan))
          .orElse(columns(scan))
          .orElse(types(scan, format, support))
    }

  private def location(scan: FileSourceScanExec): Option[String] =
    scan.relation.location.rootPaths.map(_.toUri.getScheme).find(!isLocal(_))
      .map(s => s"files on $s: are not supported, only local files")

  /** A setting that this version of Spark does not have allows everything. */
  private def setting(
      scan: FileSourceScanExec, label: String, required: Manifest.RequiredSetting): Option[String] = {
    val option = required.option.toLowerCase(Locale.ROOT)
    val given = scan.relation.options.collectFirst { case (k, v) if k.toLowerCase(Locale.ROOT) == option => v }
    given.orElse(Settings.ofSpark(scan.conf, required.conf))
      .filterNot(_.equalsIgnoreCase(required.value))
      .map(value => s"$label read with ${required.name}=$value is not supported")
  }

  private def dynamic(scan: FileSourceScanExec): Option[String] =
    if (scan.partitionFilters.exists(_.exists(DynamicPruning.isUnplanned))) {
      Some("dynamic partition pruning by an aggregation of its own is not supported")
    } else if (scan.outputOrdering.nonEmpty) {
      Some("a scan of sorted buckets is not supported")
    } else None

  private def columns(scan: FileSourceScanExec): Option[String] = {
    val expected = (scan.requiredSchema.map(_.name) ++ scan.relation.partitionSchema.map(_.name) ++
      FileColumns.of(scan).map(_.name)).toList
    if (scan.output.map(_.name).toList != expected) Some("metadata columns are not supported")
    else {
      scan.requiredSchema.find(f =>
        f.metadata.contains(ResolveDefaultColumns.EXISTS_DEFAULT_COLUMN_METADATA_KEY))
        .map(f => s"column ${f.name} has a default value")
    }
  }

  private def types(scan: FileSourceScanExec, format: Manifest.FormatSpec, support: Support): Option[String] = {
    def held(f: StructField) = support.typeReason(f.dataType, s"column ${f.name}")
    def isRead(t: DataType): Boolean = format.types(Support.kind(t)) && (t match {
      case a: ArrayType => isRead(a.elementType)
      case m: MapType => isRead(m.keyType) && isRead(m.valueType)
      case s: StructType => s.forall(field => isRead(field.dataType))
      case _ => true
    })
    def read(f: StructField) = support.heldReason(f.dataType, s"column ${f.name}").orElse(
      if (isRead(f.dataType)) None
      else Some(s"column ${f.name} has type ${f.dataType.catalogString}, which is not read from ${format.label}"))
    (scan.requiredSchema.iterator.flatMap(read) ++ scan.relation.partitionSchema.iterator.flatMap(held)).nextOption()
  }
}
