package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.expressions.{PythonFuncExpression, SortOrder, WindowFunction}
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Sort}
import org.apache.spark.sql.execution.{SortExec, SparkPlan, TakeOrderedAndProjectExec}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{DoubleType, FloatType}

/** Matches any plan; one that sorts within partitions as what is below it. */
object WithoutSort {
  def unapply(plan: SparkPlan): Some[SparkPlan] = plan match {
    case SortExec(_, false, below, _) => Some(below)
    case other => Some(other)
  }
}

/**
 * The rule of an operator that Spark runs over sorted rows, and the engine over rows in any order. An operator above that
 * relied on the order gets a sort of its own.
 */
trait UnorderedRule[T <: SparkPlan] extends OperatorRule[T] {
  override def finish(converted: PipelineOperatorExec, planned: T, isOrderRead: Boolean, conf: SQLConf): SparkPlan =
    if (isOrderRead) RowOrder.sortAbove(converted, planned) else converted

  override def keepsInputOrder(op: T): Boolean = false
}

/**
 * Restores the order of rows where Spark needs it. Converted operators promise no order, and conversion removes sorts
 * that the engine does not need.
 */
object RowOrder {

  /**
   * Return `plan` without the sorts that Spark added for it. A sort by more columns than `plan` requires stays if its
   * order may be read: one that the user asked for, and one that Spark shares between windows if a function of `plan`
   * depends on the order of its rows.
   */
  def withoutSort(plan: SparkPlan): SparkPlan =
    plan.withNewChildren(plan.children.zip(plan.requiredChildOrdering).map {
      case (sort @ SortExec(order, false, below, _), required) =>
        if (order.length <= required.length) below
        else if (SortRule.isOfUser(sort)) sort
        else if (dependsOnOrder(plan)) {
          SortRule.request(sort)
          sort
        } else below
      case (child, _) => child
    })

  /** Return whether a function of `plan` may have another result if rows of equal keys come in another order. */
  private def dependsOnOrder(plan: SparkPlan): Boolean = plan.expressions.exists(_.exists {
    case AggregateExpression(function, _, _, _, _) => function match {
      case _: Count | _: Min | _: Max => false
      case _: Sum | _: Average => function.dataType == FloatType || function.dataType == DoubleType
      case _ => true
    }
    case _: WindowFunction | _: PythonFuncExpression => true
    case _ => false
  })

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

  /** Return `converted` below a sort in the engine if `planned`, which it replaces, promised an order. */
  def sortAbove(converted: PipelineOperatorExec, planned: SparkPlan): SparkPlan =
    if (planned.outputOrdering.isEmpty) converted
    else {
      val order = planned.outputOrdering.map(_.copy(sameOrderExpressions = Nil))
      val sort = SortExec(order, global = false, converted)
      LogicalLinks.insertAbove(sort, converted)
      SortRule.request(sort)
      Convert(sort)
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
