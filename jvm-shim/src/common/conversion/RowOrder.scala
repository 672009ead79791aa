package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.expressions.SortOrder
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Sort}
import org.apache.spark.sql.execution.{SortExec, SparkPlan, TakeOrderedAndProjectExec}

/**
 * Restores the order of rows where Spark needs it. Converted operators promise no order, and conversion removes sorts
 * that the engine does not need.
 */
object RowOrder {

  /**
   * Return `plan` without the sort that Spark added for it. A sort by more columns than `plan` requires is one that the
   * user asked for: functions of `plan` may depend on its order.
   */
  def withoutSort(plan: SparkPlan): SparkPlan = plan.children match {
    case Seq(SortExec(order, false, below, _)) if order.length <= plan.requiredChildOrdering.head.length =>
      plan.withNewChildren(Seq(below))
    case _ => plan
  }

  /** Return `plan` with the sorts that it requires and its inputs lack. */
  def supply(plan: SparkPlan): SparkPlan = {
    val children = plan.children.zip(plan.requiredChildOrdering).map { case (child, required) =>
      if (SortOrder.orderingSatisfies(child.outputOrdering, required)) child
      else SortExec(required, global = false, child)
    }
    if (children.corresponds(plan.children)(_ eq _)) plan else plan.withNewChildren(children)
  }

  /** Insert the sorts that the operators of `plan` that stayed in Spark require and no longer get. */
  def restore(plan: SparkPlan): SparkPlan = plan.mapChildren(restore) match {
    case op: PipelineOperatorExec => op
    case stayed => supply(stayed)
  }

  /** Return `converted` below a sort in Spark if `planned`, which it replaces, promised an order. */
  def sortAbove(converted: PipelineOperatorExec, planned: SparkPlan): SparkPlan =
    if (planned.outputOrdering.isEmpty) converted
    else {
      val order = planned.outputOrdering.map(_.copy(sameOrderExpressions = Nil))
      val sort = SortExec(order, global = false, converted)
      LogicalLinks.insertAbove(sort, converted)
      sort
    }

  /**
   * Return whether Spark omitted a sort because an operator below already provides its order: the logical plan has more
   * sorts than the physical one. Then the order of the plan's rows may be significant.
   */
  def omitsSorts(plan: SparkPlan): Boolean = {
    val requested = plan.logicalLink.map(sorts).getOrElse(0)
    requested > 0 && requested > plan.collect {
      case s: SortExec if s.logicalLink.isDefined => s
      case t: TakeOrderedAndProjectExec => t
    }.length
  }

  private def sorts(plan: LogicalPlan): Int = plan.collect { case s: Sort => s }.length
}
