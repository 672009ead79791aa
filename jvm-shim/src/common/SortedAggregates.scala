package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.execution.{SortExec, SparkPlan}
import org.apache.spark.sql.execution.aggregate.{BaseAggregateExec, SortAggregateExec}
import org.apache.spark.sql.execution.exchange.Exchange

/**
 * `SortAggregateExec` in the engine: Spark sorts where a buffer does not fit its hash map (min of a string);
 * the engine hashes, so the sort below goes. What relied on the order the sort left gets a sort of its own.
 */
object SortedAggregates {

  /** Whether the order of `plan`'s input does not reach its output. */
  def forgetsOrder(plan: SparkPlan): Boolean = plan match {
    case _: Exchange | _: BaseAggregateExec | _: SortExec => true
    case _ => false
  }

  def withoutSort(a: SortAggregateExec): SortAggregateExec = a.child match {
    case SortExec(_, false, below, _) =>
      val bare = a.copy(child = below)
      bare.copyTagsFrom(a)
      bare
    case _ => a
  }

  /** `a` as Spark can run it: over a sort by its keys, where its input has no such order. */
  def withSort(a: SortAggregateExec): SparkPlan = Sorts.supplied(a)

  /** A sort in Spark of what `op` gives, where `a`, which it replaces, promised that order. */
  def sortAbove(op: PipelineOperatorExec, a: SparkPlan): SparkPlan =
    if (a.outputOrdering.isEmpty) op
    else {
      val order = a.outputOrdering.map(_.copy(sameOrderExpressions = Nil))
      val sort = SortExec(order, global = false, op)
      Links.putAbove(sort, op)
      sort
    }

  /** Insert the sorts that operators which stayed in Spark require and no longer get. */
  def restoreOrdering(plan: SparkPlan): SparkPlan = {
    val below = plan.mapChildren(restoreOrdering)
    below match {
      case op: PipelineOperatorExec => op
      case node => Sorts.supplied(node)
    }
  }
}
