package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.window.{WindowExec, WindowGroupLimitExec}

/** The common part of the rules of windows. The engine's windows sort their input, so the sort below is removed. */
trait WindowLikeRule[T <: SparkPlan] extends UnorderedRule[T] {

  override def prepare(op: T): SparkPlan = RowOrder.withoutSort(op)

  override def revert(op: T): SparkPlan = RowOrder.supply(op)

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
