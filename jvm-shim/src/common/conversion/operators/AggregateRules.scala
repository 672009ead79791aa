package org.apache.spark.sql.pysparkpipeline

import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.expressions.aggregate.{Final, Partial}
import org.apache.spark.sql.execution.{SortExec, SparkPlan}
import org.apache.spark.sql.execution.aggregate.{BaseAggregateExec, HashAggregateExec, ObjectHashAggregateExec, SortAggregateExec}
import org.apache.spark.sql.internal.SQLConf

/** The common part of the rules of aggregations. [[AggregateStages]] keeps the stages of one aggregation together. */
trait AggregateRule[T <: BaseAggregateExec] extends OperatorRule[T] {

  override def limitation(op: T): Option[String] =
    if (op.isStreaming) Some("streaming aggregation is not supported") else None

  override def expressions(op: T): Seq[Expression] = Pivots.flat(op).expressions

  override def describe(op: T, node: ObjectNode, plan: PlanJson): Unit =
    node.set[ObjectNode]("fields", plan.fields(Pivots.flat(op)))

  override def keepsInputOrder(op: T): Boolean = false

  override def movesRows(op: T): Boolean = op.groupingExpressions.nonEmpty

  override def isHeavy(op: T): Boolean = true

  /** A partial aggregation with keys streams; one without functions may remove duplicates for another, and blocks. */
  override def stages(op: T, declared: Seq[String]): Seq[String] = {
    val isPartial = op.aggregateExpressions.nonEmpty && op.aggregateExpressions.forall(_.mode == Partial)
    if (isPartial && op.groupingExpressions.nonEmpty) Seq("StreamingAggregate") else declared
  }

  /** Return the inputs of the partial aggregation if `op` finishes the one directly below it. */
  override def pipelineInputs(op: PipelineOperatorExec): Seq[SparkPlan] = (op.original, op.children) match {
    case (last: BaseAggregateExec, Seq(PipelineOperatorExec(first: BaseAggregateExec))) if runAsOne(last, first) =>
      first.children
    case (_, children) => children
  }

  private def runAsOne(last: BaseAggregateExec, first: BaseAggregateExec): Boolean =
    last.requiredChildDistributionExpressions.nonEmpty && first.requiredChildDistributionExpressions.isEmpty &&
      last.aggregateExpressions.forall(_.mode == Final) && first.aggregateExpressions.forall(_.mode == Partial)
}

object HashAggregateRule extends AggregateRule[HashAggregateExec]

/** Functions whose buffer is an object in Spark's memory and a binary value in exchanges (percentile). */
object ObjectHashAggregateRule extends AggregateRule[ObjectHashAggregateExec]

/**
 * Spark sorts if a buffer does not fit its hash map (min of a string); the engine hashes, so the sort below is removed.
 * An operator above that relied on the order gets a sort of its own.
 */
object SortAggregateRule extends AggregateRule[SortAggregateExec] {

  override def prepare(op: SortAggregateExec): SparkPlan = op.child match {
    case SortExec(_, false, below, _) =>
      val bare = op.copy(child = below)
      bare.copyTagsFrom(op)
      bare
    case _ => op
  }

  override def finish(
      converted: PipelineOperatorExec, planned: SortAggregateExec, isOrderRead: Boolean, conf: SQLConf): SparkPlan =
    if (isOrderRead) RowOrder.sortAbove(converted, planned) else converted

  override def revert(op: SortAggregateExec): SparkPlan = RowOrder.supply(op)
}
