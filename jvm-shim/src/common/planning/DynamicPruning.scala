package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.expressions.{BindReferences, DynamicPruningExpression, Expression, Literal}
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight}
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec
import org.apache.spark.sql.execution.exchange.BroadcastExchangeExec
import org.apache.spark.sql.execution.joins.{BroadcastHashJoinExec, HashedRelationBroadcastMode, HashJoin}

/**
 * Plans the dynamic partition pruning of scans: a scan reads only the partitions whose keys the small side of a join
 * above contains. With AQE, Spark plans the pruning when it creates a stage, and then searches for the join; it does not
 * recognize a converted join. So this object plans it for all joins, by Spark's rule: the filter reuses the broadcast of
 * the small side; without such a broadcast, a filter that pays only with one is dropped.
 */
object DynamicPruning {

  /** Return `plan`, which consists of Spark's operators, with the pruning of its scans planned. */
  def plan(plan: SparkPlan): SparkPlan =
    if (!plan.conf.dynamicPartitionPruningEnabled) plan
    else plan.transformUp { case scan: FileSourceScanExec if scan.partitionFilters.exists(_.exists(isPruning)) =>
      scan.copy(partitionFilters =
        scan.partitionFilters.map(_.transform { case e: DynamicPruningExpression => filter(e, scan, plan) }))
    }

  /** Return whether Spark has not planned `e` yet. */
  def isUnplanned(e: Expression): Boolean = e match {
    case InSubqueryExec(_, _: SubqueryAdaptiveBroadcastExec, _, _, _, _) => true
    case _ => false
  }

  private def isPruning(e: Expression): Boolean = e.isInstanceOf[DynamicPruningExpression]

  private def filter(pruning: DynamicPruningExpression, scan: SparkPlan, plan: SparkPlan): Expression = pruning.child match {
    case in @ InSubqueryExec(_, SubqueryAdaptiveBroadcastExec(
        name, indices, onlyInBroadcast, _, keys, values: AdaptiveSparkPlanExec), _, _, _, _) =>
      val hasBroadcast = plan.conf.exchangeReuseEnabled && keys.nonEmpty && isBroadcast(values.executedPlan, plan)
      val decision = Policies.pruning(hasBroadcast, onlyInBroadcast)
      Decisions.add(scan, decision)
      if (hasBroadcast) {
        val bound = BindReferences.bindReferences(HashJoin.rewriteKeyExpr(keys), values.executedPlan.output)
        val exchange = BroadcastExchangeExec(HashedRelationBroadcastMode(bound), values.executedPlan)
        values.executedPlan.logicalLink.foreach(exchange.setLogicalLink)
        val broadcast = SubqueryBroadcastExec(name, indices, keys, values.copy(inputPlan = exchange))
        DynamicPruningExpression(in.withNewPlan(broadcast).asInstanceOf[Expression])
      } else if (decision.choice) pruning
      else DynamicPruningExpression(Literal.TrueLiteral)
    case in @ InSubqueryExec(_, values @ SubqueryBroadcastExec(_, _, _, exchange: BroadcastExchangeExec), _, _, _, _)
        if Convert.isInEngine(exchange.child) => // AQE off: use the join's exchange, so that Spark computes it once
      Decisions.add(scan, Policies.pruning(hasBroadcast = true, paysOnlyWithBroadcast = true))
      DynamicPruningExpression(in.withNewPlan(values.copy(child = Convert(exchange))).asInstanceOf[Expression])
    case _ => pruning
  }

  /** Return whether a join of `plan` reads `values` from a broadcast. */
  private def isBroadcast(values: SparkPlan, plan: SparkPlan): Boolean = {
    val target = Revert.whole(values).canonicalized
    plan.exists {
      case j: BroadcastHashJoinExec =>
        val side = j.buildSide match {
          case BuildLeft => j.left
          case BuildRight => j.right
        }
        broadcastChild(side).exists(child => Revert.whole(child).canonicalized == target)
      case _ => false
    }
  }

  private def broadcastChild(side: SparkPlan): Option[SparkPlan] = Exchanges.behind(side) match {
    case exchange @ (_: BroadcastExchangeExec | _: PipelineBroadcastExchangeExec) => exchange.children.headOption
    case _ => None
  }
}
