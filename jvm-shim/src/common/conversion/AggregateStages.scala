package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.expressions.aggregate.{Final, PartialMerge}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.{AQEShuffleReadExec, QueryStageExec}
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.execution.exchange.{Exchange, ReusedExchangeExec}

/** Keeps the stages of one aggregation together: all in the engine, or all in Spark. */
object AggregateStages {

  /** Revert aggregates whose other stages stayed in Spark; return the same plan if there are none. */
  def keepTogether(plan: SparkPlan): SparkPlan = plan match {
    case PipelineOperatorExec(a: BaseAggregateExec) if merges(a) && below(a.child).exists(!isConverted(_)) =>
      Revert.region(plan, "its partial aggregation stayed in Spark").mapChildren(keepTogether)
    case a: BaseAggregateExec if merges(a) && below(a.child).exists(isConverted) =>
      a.withNewChildren(Seq(revertStages(a.child, reasonOf(a))))
    case other => other.mapChildren(keepTogether)
  }

  private def merges(a: BaseAggregateExec): Boolean =
    a.aggregateExpressions.exists(e => e.mode == Final || e.mode == PartialMerge)

  private def reasonOf(a: SparkPlan): String =
    a.getTagValue(Conversion.Reason).getOrElse("the aggregation above stayed in Spark")

  /** Return the aggregate that produces the buffers of `plan`; None if its stage has run. */
  private def below(plan: SparkPlan): Option[SparkPlan] = plan match {
    case op @ PipelineOperatorExec(_: BaseAggregateExec) => Some(op)
    case a: BaseAggregateExec => Some(a)
    case _: QueryStageExec | _: ReusedExchangeExec | _: AQEShuffleReadExec => None
    case e: Exchange => below(e.child)
    case PipelineOperatorExec(o) if o.children.length == 1 => below(o.children.head)
    case other if other.children.length == 1 => below(other.children.head)
    case _ => None
  }

  private def isConverted(plan: SparkPlan): Boolean = plan.isInstanceOf[PipelineOperatorExec]

  private def revertStages(plan: SparkPlan, reason: String): SparkPlan = plan match {
    case op @ PipelineOperatorExec(_: BaseAggregateExec) =>
      Revert.region(op, s"goes with the aggregation above: $reason")
    case e: PipelineShuffleExchangeExec => Revert.exchange(e.withNewChildren(Seq(revertStages(e.child, reason))))
    case op: PipelineOperatorExec => Revert.operator(op).mapChildren(revertStages(_, reason))
    case other => other.mapChildren(revertStages(_, reason))
  }
}
