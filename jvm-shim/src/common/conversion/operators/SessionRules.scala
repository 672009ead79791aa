package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.expressions.aggregate.PartialMerge
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.aggregate.{MergingSessionsExec, SortAggregateExec, UpdatingSessionsExec}

/** Session windows: each row gets the session that its own one belongs to. The engine runs this as a window. */
object UpdatingSessionsRule extends WindowLikeRule[UpdatingSessionsExec] {

  override def limitation(op: UpdatingSessionsExec): Option[String] =
    if (op.isStreaming) Some("streaming aggregation is not supported")
    else if (!keys(op).forall(op.child.outputSet.contains)) Some("computed keys of sessions are not supported")
    else None

  override def keys(op: UpdatingSessionsExec): Seq[Attribute] =
    op.groupingExpression.filterNot(_.semanticEquals(op.sessionExpression))

  override def expressions(op: UpdatingSessionsExec): Seq[Expression] = keys(op)

  override def stages(op: UpdatingSessionsExec, declared: Seq[String]): Seq[String] = declared :+ "Project"
}

/**
 * An aggregation that also joins the sessions of its rows. The engine gets it as two operators: the sessions
 * ([[UpdatingSessionsRule]]), and an aggregation. If both stay in Spark, they become one again.
 */
object MergingSessionsRule extends UnorderedRule[MergingSessionsExec] {

  override def prepare(op: MergingSessionsExec): SparkPlan = op.sessionExpression match {
    case session: Attribute if !op.isStreaming && op.groupingExpressions.forall(_.isInstanceOf[Attribute]) =>
      val sessions = UpdatingSessionsExec(
        op.isStreaming, op.numShufflePartitions, op.groupingExpressions.map(_.toAttribute), session, op.child)
      LogicalLinks.insertAbove(sessions, op.child)
      val merged = SortAggregateExec(
        op.requiredChildDistributionExpressions, op.isStreaming, op.numShufflePartitions, op.groupingExpressions,
        op.aggregateExpressions, op.aggregateAttributes, op.initialInputBufferOffset, op.resultExpressions, sessions)
      merged.copyTagsFrom(op)
      merged
    case _ => op
  }

  override def limitation(op: MergingSessionsExec): Option[String] =
    Some(if (op.isStreaming) "streaming aggregation is not supported" else "computed keys of sessions are not supported")

  override def movesRows(op: MergingSessionsExec): Boolean = true

  /** Return `plan` with each aggregation that stayed in Spark above sessions that did too as one operator again. */
  def rejoined(plan: SparkPlan): SparkPlan =
    if (!plan.exists(_.isInstanceOf[UpdatingSessionsExec])) plan
    else plan.transformUp {
      case op @ SortAggregateExec(_, _, _, _, _, _, _, _, WithoutSort(sessions: UpdatingSessionsExec))
          if op.aggregateExpressions.forall(_.mode == PartialMerge) && haveSameKeys(op, sessions) =>
        val whole = MergingSessionsExec(
          op.requiredChildDistributionExpressions, op.isStreaming, op.numShufflePartitions, op.groupingExpressions,
          sessions.sessionExpression, op.aggregateExpressions, op.aggregateAttributes, op.initialInputBufferOffset,
          op.resultExpressions, sessions.child)
        whole.copyTagsFrom(op)
        whole
    }

  /** Return whether `op` groups by the keys of the sessions alone; one that removes duplicates for a DISTINCT has more keys. */
  private def haveSameKeys(op: SortAggregateExec, sessions: UpdatingSessionsExec): Boolean =
    op.groupingExpressions.map(_.toAttribute.exprId) == sessions.groupingExpression.map(_.exprId)
}
