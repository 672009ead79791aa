package org.apache.spark.sql.pysparkpipeline

import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.metric.SQLMetric

/** Scans of files. [[ScanSupport]] checks the files, [[FileFormats]] has their formats, [[ScanParts]] assigns splits. */
object ScanRule extends SourceRule[FileSourceScanExec] {

  override def reason(op: FileSourceScanExec, support: Support): Option[String] = ScanSupport.reason(op, support)

  override def revert(op: FileSourceScanExec): SparkPlan = FileColumns.revert(op)

  override def readBytes(op: FileSourceScanExec, toPython: Boolean): BigInt = CostModel.scanBytes(op)

  override def parts(op: FileSourceScanExec, metrics: Map[String, SQLMetric]): Array[ScanPart] =
    ScanParts.of(op, metrics)

  override def joined(parts: Seq[ScanPart]): ScanPart = ScanPart(
    Json.arr(parts.flatMap(part => Manifest.elements(Manifest.mapper.readTree(part.splits)))).toString,
    parts.flatMap(_.locations).distinct)

  override def describe(op: FileSourceScanExec, node: ObjectNode, plan: PlanJson): Unit = {
    FileFormats.of(op.relation.fileFormat).foreach { format =>
      node.put("format", format.name)
      val options = Json.obj()
      format.options(op).foreach { case (k, v) => options.put(k, v) }
      node.set[ObjectNode]("options", options)
      node.set[ObjectNode]("filters", Json.arr(format.filters(op).map(plan.expressions.write)))
    }
    node.put("numDataColumns", op.requiredSchema.length).put("caseSensitive", plan.conf.caseSensitiveAnalysis)
    node.set[ObjectNode]("pushed", Json.arr(op.dataFilters.filter(canPush(op, _)).map(plan.expressions.write)))
  }

  private def canPush(op: FileSourceScanExec, e: Expression): Boolean =
    !FileColumns.of(op).exists(e.references.contains) && ExpressionJson.subqueries(e).isEmpty && new Support(false, Exclusions.none).reason(e).isEmpty

  override def label(op: FileSourceScanExec): String = {
    val name = op.tableIdentifier.map(_.table)
      .orElse(op.relation.location.rootPaths.headOption.map(_.getName))
    (FileFormats.of(op.relation.fileFormat).map(_.name) ++ name).mkString(" ")
  }
}
