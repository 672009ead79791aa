package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.QueryStageExec

/**
 * Reverts regions that would not be faster ([[Policies.region]]). A region is a maximal connected set of converted
 * operators and exchanges.
 */
class CostRule(model: CostModel) {

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
    val isHeavy = members.exists {
      case PipelineOperatorExec(op) => OperatorRules.of(op).isHeavy(op)
      case _ => false
    }
    val readsStage = members.exists(_.isInstanceOf[QueryStageExec])
    val bytes = members.collect { case PipelineOperatorExec(s: FileSourceScanExec) => CostModel.scanBytes(s) }.sum
    Policies.region(isHeavy, readsStage, bytes, model.minScanBytes)
  }

  /** Return the region's members and the stages it reads. */
  private def collect(plan: SparkPlan): Seq[SparkPlan] = plan match {
    case op: PipelineOperatorExec => op +: op.children.flatMap(collect)
    case e @ (_: PipelineShuffleExchangeExec | _: PipelineBroadcastExchangeExec) => e +: e.children.flatMap(collect)
    case stage: QueryStageExec => Seq(stage)
    case _ => Nil
  }
}
