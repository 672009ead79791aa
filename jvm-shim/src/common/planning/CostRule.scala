package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.QueryStageExec
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec

/**
 * Reverts regions that would not be faster ([[Policies.region]]). A region is a maximal connected set of converted
 * operators and exchanges. If the result `staysArrow`, as one that Spark caches, its chunks need no transition. `leave`
 * returns a region without the operators at its top that are better left to Spark.
 */
class CostRule(model: CostModel, staysArrow: Boolean, leave: SparkPlan => SparkPlan) {

  def apply(plan: SparkPlan): SparkPlan = plan match {
    case write: PipelineWriteFilesExec =>
      val child = new CostRule(model, staysArrow = true, leave).apply(write.child)
      if (Convert.isInEngine(child) == Convert.isInEngine(write.child)) write.withNewChildren(Seq(child))
      else Revert.write(write, child, "its input stayed in Spark")
    case top: PipelineTakeOrderedExec =>
      apply(top.original.child) match {
        case op: PipelineOperatorExec => top.withNewChildren(Seq(op))
        case part => top.original.copy(child = part.children.head)
      }
    case _: PipelineOperatorExec | _: PipelineShuffleExchangeExec | _: PipelineBroadcastExchangeExec =>
      val decision = decide(plan)
      if (decision.choice) Decisions.add(plan, decision)
      if (decision.choice) { if (staysArrow) plan else leave(plan) } else Revert.region(plan, s"cost: ${decision.why}")
    case other => other.mapChildren(apply)
  }

  private def decide(region: SparkPlan): Decision[Boolean] = {
    val members = collect(region)
    val operators = members.collect { case PipelineOperatorExec(op) => op }
    val readsStage = members.exists(member => member.isInstanceOf[QueryStageExec] && !CachedScans.isRead(member))
    val heavy = operators.filter(op => OperatorRules.of(op).isHeavy(op))
    val isHeavy = staysArrow || heavy.nonEmpty
    val isEvaluated = !staysArrow && !readsStage && operators.exists(JvmExpressions.calls(_).nonEmpty) && heavy.forall(isOneGroup)
    val hasSubqueries = ScalarSubqueries.runInEngine(operators.flatMap(_.expressions))
    val toPython = operators.exists(op => OperatorRules.of(op).pythonFunctions(op).nonEmpty)
    val bytes = operators.map(op => OperatorRules.of(op).readBytes(op, toPython)).sum +
      members.flatMap(CachedScans.of).map(CachedScans.bytes).sum
    Policies.region(isHeavy, isEvaluated, ScalarSubqueries.isTop(region), hasSubqueries, readsStage, bytes, model.minScanBytes)
  }

  private def isOneGroup(op: SparkPlan): Boolean = op match {
    case aggregation: BaseAggregateExec => aggregation.groupingExpressions.isEmpty
    case _ => false
  }

  /** Return the region's members and the stages it reads. */
  private def collect(plan: SparkPlan): Seq[SparkPlan] = plan match {
    case op: PipelineOperatorExec => op +: op.children.flatMap(collect)
    case e @ (_: PipelineShuffleExchangeExec | _: PipelineBroadcastExchangeExec) => e +: e.children.flatMap(collect)
    case input if input.isInstanceOf[QueryStageExec] || CachedScans.isRead(input) => Seq(input)
    case _ => Nil
  }
}
