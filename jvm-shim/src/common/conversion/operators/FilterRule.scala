package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.execution.FilterExec

object FilterRule extends OperatorRule[FilterExec] {
  override def isRowwise(op: FilterExec): Boolean = true
}
