package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec

/**
 * Finds calls of `collect_list` and `collect_set` whose order nothing reads: the aggregation sorts or counts what they
 * return. Then the order of the rows does not matter, beside functions of distinct values for example.
 */
object UnreadOrder {

  /** On an aggregate expression, in each stage. */
  private val Mark: TreeNodeTag[Boolean] = TreeNodeTag[Boolean]("pysparkpipeline.orderIsNotRead")

  /** Mark such calls in all stages of `plan`. */
  def mark(plan: SparkPlan): Unit = {
    val stages = plan.collect { case a: BaseAggregateExec => a }
    val unread = for (a <- stages; e <- a.aggregateExpressions if e.mode == Final && collects(e) && !isRead(e, a)) yield e.resultId
    stages.flatMap(_.aggregateExpressions).foreach { e =>
      if (unread.contains(e.resultId)) e.setTagValue(Mark, true) else e.unsetTagValue(Mark)
    }
  }

  def isMarked(e: AggregateExpression): Boolean = e.getTagValue(Mark).isDefined

  private def collects(e: AggregateExpression): Boolean = e.aggregateFunction match {
    case list: CollectList => ExactTypes.containFlat(list.child.dataType)
    case set: CollectSet => ExactTypes.containFlat(set.child.dataType)
    case _ => false
  }

  private def isRead(e: AggregateExpression, a: BaseAggregateExec): Boolean = a.resultExpressions.exists(reads(_, e.resultId))

  private def reads(e: Expression, result: ExprId): Boolean = e match {
    case column: Attribute => column.exprId == result
    case Size(_: Attribute, _) | SortArray(_: Attribute, _) => false
    case sort @ ArraySort(_: Attribute, _, _) => !ArrayComparators.isOrderOfElements(sort)
    case other => other.children.exists(reads(_, result))
  }
}
