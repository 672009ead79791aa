package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.expressions.{BindReferences, DynamicPruningExpression, Expression, Literal}
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight}
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec
import org.apache.spark.sql.execution.exchange.BroadcastExchangeExec
import org.apache.spark.sql.execution.joins.{BroadcastHashJoinExec, HashedRelationBroadcastMode, HashJoin}

/**
 * Plans the dynamic partition pruning of scans: the partitions that a scan reads are those of the keys that
 * the small side of a join above gave. With AQE, Spark plans it when it makes a stage, and looks for the join then; a
 * join in the engine it does not see. So it is done here, for all joins, by Spark's rule: the small side's broadcast is
 * used again, and where there is none to use a filter that is only worth it then is dropped.
 */
object DynamicPruning {

  /** `plan`, of Spark's operators, with the pruning of its scans planned. */
  def planned(plan: SparkPlan): SparkPlan =
    if (!plan.conf.dynamicPartitionPruningEnabled) plan
    else plan.transformUp { case scan: FileSourceScanExec if scan.partitionFilters.exists(_.exists(isPruning)) =>
      scan.copy(partitionFilters =
        scan.partitionFilters.map(_.transform { case e: DynamicPruningExpression => filter(e, plan) }))
    }

  /** Whether Spark has still to plan `e`. */
  def isUnplanned(e: Expression): Boolean = e match {
    case InSubqueryExec(_, _: SubqueryAdaptiveBroadcastExec, _, _, _, _) => true
    case _ => false
  }

  private def isPruning(e: Expression): Boolean = e.isInstanceOf[DynamicPruningExpression]

  private def filter(pruning: DynamicPruningExpression, plan: SparkPlan): Expression = pruning.child match {
    case in @ InSubqueryExec(_, SubqueryAdaptiveBroadcastExec(
        name, indices, onlyInBroadcast, _, keys, values: AdaptiveSparkPlanExec), _, _, _, _) =>
      if (plan.conf.exchangeReuseEnabled && keys.nonEmpty && isBroadcast(values.executedPlan, plan)) {
        val bound = BindReferences.bindReferences(HashJoin.rewriteKeyExpr(keys), values.executedPlan.output)
        val exchange = BroadcastExchangeExec(HashedRelationBroadcastMode(bound), values.executedPlan)
        values.executedPlan.logicalLink.foreach(exchange.setLogicalLink)
        val broadcast = SubqueryBroadcastExec(name, indices, keys, values.copy(inputPlan = exchange))
        DynamicPruningExpression(in.withNewPlan(broadcast).asInstanceOf[Expression])
      } else if (onlyInBroadcast) DynamicPruningExpression(Literal.TrueLiteral)
      else pruning
    case in @ InSubqueryExec(_, values @ SubqueryBroadcastExec(_, _, _, exchange: BroadcastExchangeExec), _, _, _, _)
        if Wrapping.isInEngine(exchange.child) => // AQE off: the same exchange as the join's, so that one is made of both
      DynamicPruningExpression(in.withNewPlan(values.copy(child = Wrapping(exchange))).asInstanceOf[Expression])
    case _ => pruning
  }

  /** Whether a join of `plan` is given `values` by a broadcast. */
  private def isBroadcast(values: SparkPlan, plan: SparkPlan): Boolean = {
    val wanted = Unwrapping.whole(values).canonicalized
    plan.exists {
      case j: BroadcastHashJoinExec =>
        val side = j.buildSide match {
          case BuildLeft => j.left
          case BuildRight => j.right
        }
        broadcastChild(side).exists(child => Unwrapping.whole(child).canonicalized == wanted)
      case _ => false
    }
  }

  private def broadcastChild(side: SparkPlan): Option[SparkPlan] = Exchanges.behind(side) match {
    case made @ (_: BroadcastExchangeExec | _: PipelineBroadcastExchangeExec) => made.children.headOption
    case _ => None
  }
}
