package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.window.{WindowExec, WindowGroupLimitExec}
import org.apache.spark.sql.internal.SQLConf

/** The common part of the rules of windows. The engine's windows sort their input, so the sort below is removed. */
trait WindowLikeRule[T <: SparkPlan] extends OperatorRule[T] {

  override def prepare(op: T): SparkPlan = RowOrder.withoutSort(op)

  override def finish(converted: PipelineOperatorExec, planned: T, isOrderRead: Boolean, conf: SQLConf): SparkPlan =
    if (isOrderRead) RowOrder.sortAbove(converted, planned) else converted

  override def revert(op: T): SparkPlan = RowOrder.supply(op)

  override def keepsInputOrder(op: T): Boolean = false

  override def isHeavy(op: T): Boolean = true
}

object WindowRule extends WindowLikeRule[WindowExec] {
  override def keys(op: WindowExec): Seq[Expression] = op.partitionSpec
}

object WindowGroupLimitRule extends WindowLikeRule[WindowGroupLimitExec] {

  override def keys(op: WindowGroupLimitExec): Seq[Expression] = op.partitionSpec

  /** The engine evaluates no rank function: it knows which rank the limit counts. */
  override def expressions(op: WindowGroupLimitExec): Seq[Expression] = op.partitionSpec ++ op.orderSpec
}
