package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.execution.ProjectExec

object ProjectRule extends OperatorRule[ProjectExec] {
  override def isRowwise(op: ProjectExec): Boolean = true
}
