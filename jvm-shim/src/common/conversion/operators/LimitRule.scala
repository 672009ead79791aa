package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.execution.BaseLimitExec

object LimitRule extends OperatorRule[BaseLimitExec] {
  override def limitation(op: BaseLimitExec): Option[String] =
    if (op.child.outputOrdering.nonEmpty) Some("the first of sorted rows are not supported") else None

  /** A limit comes before the projections below it: they are evaluated for the rows taken. */
  override def append(below: Seq[String], last: String): Seq[String] = {
    val projections = below.reverse.takeWhile(_.startsWith("Project")).reverse
    below.dropRight(projections.length) ++ (last +: projections)
  }
}
