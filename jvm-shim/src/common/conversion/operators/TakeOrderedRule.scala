package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.{SparkPlan, TakeOrderedAndProjectExec}
import org.apache.spark.sql.internal.SQLConf

/** The first rows of a sorted input: each instance keeps its own first rows, and the driver merges them in Spark. */
object TakeOrderedRule extends OperatorRule[TakeOrderedAndProjectExec] {

  override def finish(
      converted: PipelineOperatorExec,
      planned: TakeOrderedAndProjectExec,
      isOrderRead: Boolean,
      conf: SQLConf): SparkPlan = converted.original match {
    case top: TakeOrderedAndProjectExec => PipelineTakeOrderedExec.over(top, top.child)
    case _ => converted
  }

  override def expressions(op: TakeOrderedAndProjectExec): Seq[Expression] = Support.withoutCarried(op.expressions)

  override def keepsInputOrder(op: TakeOrderedAndProjectExec): Boolean = false

  override def isHeavy(op: TakeOrderedAndProjectExec): Boolean = true
}
