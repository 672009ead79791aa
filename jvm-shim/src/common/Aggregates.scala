package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.{AQEShuffleReadExec, QueryStageExec}
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.execution.exchange.{Exchange, ReusedExchangeExec}

/** Keeps the stages of one aggregation together: all in the engine, or all in Spark. */
object Aggregates {

  /** Take back aggregates whose other half is on the other side; the same plan where there is none. */
  def together(plan: SparkPlan): SparkPlan = plan match {
    case PipelineOperatorExec(a: BaseAggregateExec) if merges(a) && below(a.child).exists(!isWrapped(_)) =>
      Unwrapping.region(plan, "its partial aggregation stayed in Spark").mapChildren(together)
    case a: BaseAggregateExec if merges(a) && below(a.child).exists(isWrapped) =>
      a.withNewChildren(Seq(takeBack(a.child, reasonOf(a))))
    case other => other.mapChildren(together)
  }

  /** The inputs of `op` as it runs: those of the partial aggregation where `op` finishes one right below it. */
  def inputs(op: PipelineOperatorExec): Seq[SparkPlan] = (op.original, op.children) match {
    case (a: BaseAggregateExec, Seq(PipelineOperatorExec(first: BaseAggregateExec))) if runAsOne(a, first) => first.children
    case (_, children) => children
  }

  private def runAsOne(a: BaseAggregateExec, first: BaseAggregateExec): Boolean =
    a.requiredChildDistributionExpressions.nonEmpty && first.requiredChildDistributionExpressions.isEmpty &&
      a.aggregateExpressions.forall(_.mode == Final) && first.aggregateExpressions.forall(_.mode == Partial)

  private def merges(a: BaseAggregateExec): Boolean =
    a.aggregateExpressions.exists(e => e.mode == Final || e.mode == PartialMerge)

  private def reasonOf(a: SparkPlan): String =
    a.getTagValue(Conversion.Reason).getOrElse("the aggregation above stayed in Spark")

  /** The aggregate that makes the buffers `plan` carries, where its stage has not run yet. */
  private def below(plan: SparkPlan): Option[SparkPlan] = plan match {
    case op @ PipelineOperatorExec(_: BaseAggregateExec) => Some(op)
    case a: BaseAggregateExec => Some(a)
    case _: QueryStageExec | _: ReusedExchangeExec | _: AQEShuffleReadExec => None
    case e: Exchange => below(e.child)
    case PipelineOperatorExec(o) if o.children.length == 1 => below(o.children.head)
    case other if other.children.length == 1 => below(other.children.head)
    case _ => None
  }

  private def isWrapped(plan: SparkPlan): Boolean = plan.isInstanceOf[PipelineOperatorExec]

  private def takeBack(plan: SparkPlan, reason: String): SparkPlan = plan match {
    case op @ PipelineOperatorExec(_: BaseAggregateExec) =>
      Unwrapping.region(op, s"goes with the aggregation above: $reason")
    case e: PipelineShuffleExchangeExec => Unwrapping.exchange(e.withNewChildren(Seq(takeBack(e.child, reason))))
    case op: PipelineOperatorExec => Unwrapping.operator(op).mapChildren(takeBack(_, reason))
    case other => other.mapChildren(takeBack(_, reason))
  }
}
