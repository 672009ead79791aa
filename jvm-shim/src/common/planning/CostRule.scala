package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.QueryStageExec

/**
 * Reverts regions that would not be faster ([[Policies.region]]). A region is a maximal connected set of converted
 * operators and exchanges. If Spark caches the result (`isCached`), its chunks need no transition.
 */
class CostRule(model: CostModel, isCached: Boolean) {

  def apply(plan: SparkPlan): SparkPlan = plan match {
    case top: PipelineTakeOrderedExec =>
      apply(top.original.child) match {
        case op: PipelineOperatorExec => top.withNewChildren(Seq(op))
        case part => top.original.copy(child = part.children.head)
      }
    case _: PipelineOperatorExec | _: PipelineShuffleExchangeExec | _: PipelineBroadcastExchangeExec =>
      val decision = decide(plan)
      if (decision.choice) Decisions.add(plan, decision)
      if (decision.choice) plan else Revert.region(plan, s"cost: ${decision.why}")
    case other => other.mapChildren(apply)
  }

  private def decide(region: SparkPlan): Decision[Boolean] = {
    val members = collect(region)
    val isHeavy = isCached || members.exists {
      case PipelineOperatorExec(op) => OperatorRules.of(op).isHeavy(op)
      case _ => false
    }
    val cached = members.flatMap(CachedScans.of)
    val readsStage = members.exists(member => member.isInstanceOf[QueryStageExec] && !CachedScans.isRead(member))
    val bytes = members.collect { case PipelineOperatorExec(s: FileSourceScanExec) => CostModel.scanBytes(s) }.sum +
      cached.map(CachedScans.bytes).sum
    val hasSubqueries = ScalarSubqueries.runInEngine(members.flatMap {
      case PipelineOperatorExec(op) => op.expressions
      case _ => Nil
    })
    Policies.region(isHeavy, ScalarSubqueries.isTop(region), hasSubqueries, readsStage, bytes, model.minScanBytes)
  }

  /** Return the region's members and the stages it reads. */
  private def collect(plan: SparkPlan): Seq[SparkPlan] = plan match {
    case op: PipelineOperatorExec => op +: op.children.flatMap(collect)
    case e @ (_: PipelineShuffleExchangeExec | _: PipelineBroadcastExchangeExec) => e +: e.children.flatMap(collect)
    case input if input.isInstanceOf[QueryStageExec] || CachedScans.isRead(input) => Seq(input)
    case _ => Nil
  }
}
