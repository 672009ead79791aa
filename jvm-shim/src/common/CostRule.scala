package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.execution.{FileSourceScanExec, SortExec, SparkPlan, TakeOrderedAndProjectExec}
import org.apache.spark.sql.execution.adaptive.QueryStageExec
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.execution.joins.BaseJoinExec

/**
 * Takes back regions that would not win. A region is what hangs together through wrapped operators and
 * exchanges. It pays when it aggregates, joins, sorts or has windows, and its scans read enough; a region that only
 * scans, filters and projects gives its rows back through a transition that costs more than it saves.
 */
class CostRule(minScanBytes: Long) {

  def apply(plan: SparkPlan): SparkPlan = plan match {
    case top: PipelineTakeOrderedExec =>
      apply(top.original.child) match {
        case op: PipelineOperatorExec => top.withNewChildren(Seq(op))
        case part => top.original.copy(child = part.children.head)
      }
    case _: PipelineOperatorExec | _: PipelineShuffleExchangeExec | _: PipelineBroadcastExchangeExec =>
      loss(plan) match {
        case Some(reason) => Unwrapping.region(plan, reason)
        case None => plan
      }
    case other => other.mapChildren(apply)
  }

  private def loss(region: SparkPlan): Option[String] = {
    val members = collect(region)
    val works = members.exists {
      case PipelineOperatorExec(_: BaseAggregateExec | _: BaseJoinExec | _: SortExec | _: TakeOrderedAndProjectExec) => true
      case PipelineOperatorExec(op) => Windows.isWindow(op)
      case _ => false
    }
    val fromStage = members.exists(_.isInstanceOf[QueryStageExec])
    val bytes = members.collect { case PipelineOperatorExec(s: FileSourceScanExec) => ScanBytes.of(s) }.sum
    if (!works) Some("cost: without an aggregation, join, sort or window the transition to rows costs more than it saves")
    else if (!fromStage && bytes < minScanBytes) {
      Some(s"cost: its scans read $bytes bytes, fewer than ${Settings.Prefix}cost.minScanBytes=$minScanBytes")
    } else None
  }

  /** The region's members and the stages it reads. */
  private def collect(plan: SparkPlan): Seq[SparkPlan] = plan match {
    case op: PipelineOperatorExec => op +: op.children.flatMap(collect)
    case e @ (_: PipelineShuffleExchangeExec | _: PipelineBroadcastExchangeExec) => e +: e.children.flatMap(collect)
    case stage: QueryStageExec => Seq(stage)
    case _ => Nil
  }
}
