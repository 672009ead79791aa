package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.ExpandExec

object ExpandRule extends OperatorRule[ExpandExec] {
  override def expressions(op: ExpandExec): Seq[Expression] = Support.withoutCarried(op.expressions)

  override def movesRows(op: ExpandExec): Boolean = true

  override def isRowwise(op: ExpandExec): Boolean = true
}
