package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.exchange.{BroadcastExchangeExec, ShuffleExchangeExec}

/** Replaces converted operators and exchanges by Spark's own. */
object Revert {
  /** Return `plan` as Spark planned it, down to the query stages. */
  def whole(plan: SparkPlan): SparkPlan = plan match {
    case op: PipelineOperatorExec => whole(operator(op))
    case fragment: PipelineFragmentExec => whole(fragment.root)
    case wait: PipelineWaitExec => whole(wait.child)
    case write: PipelineWriteFilesExec => whole(LogicalLinks.copy(write, write.planned))
    case top: PipelineTakeOrderedExec => whole(PipelineTakeOrderedExec.planned(top))
    case other => exchange(other.mapChildren(whole))
  }

  /** Return a converted exchange as Spark's own; any other plan unchanged. */
  def exchange(plan: SparkPlan): SparkPlan = plan match {
    case e: PipelineShuffleExchangeExec =>
      withTags(e, ShuffleExchangeExec(e.outputPartitioning, e.child, e.shuffleOrigin, e.advisoryPartitionSize))
    case e: PipelineBroadcastExchangeExec => withTags(e, BroadcastExchangeExec(e.mode, e.child))
    case other => other
  }

  private def withTags[T <: SparkPlan](from: SparkPlan, plain: T): T = {
    plain.copyTagsFrom(from)
    plain
  }

  /** Return a converted write as Spark's own, of `child` and with the reason against it. */
  def write(write: PipelineWriteFilesExec, child: SparkPlan, reason: String): SparkPlan = {
    val plain = withTags(write, write.planned.copy(child = child))
    plain.setTagValue(Conversion.Reason, reason)
    plain
  }

  /** Revert the converted operators and exchanges connected to `plan`; set `reason` on the top one. */
  def region(plan: SparkPlan, reason: String): SparkPlan = {
    val plain = connected(plan)
    plain.setTagValue(Conversion.Reason, reason)
    plain
  }

  /** Return the operator inside `op` as Spark can run it. */
  def operator(op: PipelineOperatorExec): SparkPlan =
    LogicalLinks.copy(op, JvmExpressions.without(OperatorRules.of(op.original).revert(op.original)))

  private def connected(plan: SparkPlan): SparkPlan = plan match {
    case op: PipelineOperatorExec => operator(op).mapChildren(connected)
    case e @ (_: PipelineShuffleExchangeExec | _: PipelineBroadcastExchangeExec) => exchange(e.mapChildren(connected))
    case other => other
  }
}
