package org.apache.spark.sql.pysparkpipeline

import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{Complete, Final, Partial}
import org.apache.spark.sql.execution.{ProjectExec, SparkPlan}
import org.apache.spark.sql.execution.aggregate.{BaseAggregateExec, HashAggregateExec, ObjectHashAggregateExec, SortAggregateExec}

/** The common part of the rules of aggregations. [[AggregateStages]] keeps the stages of one aggregation together. */
trait AggregateRule[T <: BaseAggregateExec] extends OperatorRule[T] {

  override def limitation(op: T): Option[String] =
    if (op.isStreaming) Some("streaming aggregation is not supported") else None

  override def expressions(op: T): Seq[Expression] = {
    val flat = Pivots.flat(op)
    flat.groupingExpressions ++ flat.aggregateExpressions ++ flat.resultExpressions.filterNot(isNested)
  }

  override def keys(op: T): Seq[Expression] = op.groupingExpressions

  /** Return whether `e` is the array that a function returns, for operators in Spark. */
  private def isNested(e: Expression): Boolean = e match {
    case Alias(result: Attribute, _) => isNested(result)
    case result: Attribute => !Support.isSupported(result.dataType) && Support.isHeld(result.dataType)
    case _ => false
  }

  /** Split off the expressions that the engine does not support over the results of functions that it does. */
  override def split(op: T, support: Support): Option[SparkPlan] = {
    val isFinal = op.aggregateExpressions.nonEmpty && op.aggregateExpressions.forall(e => e.mode == Final || e.mode == Complete)
    val inner = Support.withoutCarried(op.groupingExpressions) ++ op.aggregateExpressions
    val results = op.groupingExpressions.map(_.toAttribute) ++ op.aggregateAttributes
    if (!isFinal || Pivots.flat(op) != op || limitation(op).isDefined || support.first(inner).isDefined ||
        support.firstKeyReason(op.groupingExpressions).isDefined ||
        support.firstHeldReason(op.children.flatMap(_.output), "").isDefined ||
        results.exists(a => !Support.isHeld(a.dataType))) None
    else {
      val (computed, others) = op.resultExpressions.partition(e => isNested(e) || support.reason(e).isEmpty)
      val read = AttributeSet(others) -- computed.map(_.toAttribute)
      val lower = withResults(op, computed ++ results.filter(read.contains))
      lower.copyTagsFrom(op)
      val above = ProjectExec(op.resultExpressions.map(e => if (others.contains(e)) e else e.toAttribute), lower)
      LogicalLinks.insertAbove(above, lower)
      Some(above)
    }
  }

  /** Return `op` with other result expressions. */
  protected def withResults(op: T, results: Seq[NamedExpression]): T

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

object HashAggregateRule extends AggregateRule[HashAggregateExec] {
  override protected def withResults(op: HashAggregateExec, results: Seq[NamedExpression]): HashAggregateExec =
    op.copy(resultExpressions = results)
}

/** Functions whose buffer is an object in Spark's memory and a binary value in exchanges (percentile). */
object ObjectHashAggregateRule extends AggregateRule[ObjectHashAggregateExec] {
  override protected def withResults(op: ObjectHashAggregateExec, results: Seq[NamedExpression]): ObjectHashAggregateExec =
    op.copy(resultExpressions = results)
}

/** Spark sorts if a buffer does not fit its hash map (min of a string); the engine hashes, so the sort below is removed. */
object SortAggregateRule extends AggregateRule[SortAggregateExec] with UnorderedRule[SortAggregateExec] {

  override protected def withResults(op: SortAggregateExec, results: Seq[NamedExpression]): SortAggregateExec =
    op.copy(resultExpressions = results)

  override def prepare(op: SortAggregateExec): SparkPlan = RowOrder.withoutSort(op)

  override def revert(op: SortAggregateExec): SparkPlan = RowOrder.supply(op)
}
