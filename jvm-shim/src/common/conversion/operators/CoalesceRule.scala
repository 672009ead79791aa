package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.execution.CoalesceExec

/** `df.coalesce(n)`: an instance reads several partitions, which [[TaskAssignments]] groups as Spark does. */
object CoalesceRule extends OperatorRule[CoalesceExec] {

  /** Partitions whose rows an operator combines cannot be read as one; Spark's operator reads one after the other. */
  override def limitation(op: CoalesceExec): Option[String] = Fusion.operators(op.child).map(_.original)
    .collectFirst { case below if !OperatorRules.of(below).isRowwise(below) =>
      s"coalesced partitions of ${below.nodeName.trim} are not supported"
    }

  override def isRowwise(op: CoalesceExec): Boolean = true

  override def coalescesTo(op: CoalesceExec): Option[Int] = Some(op.numPartitions)

  /** The pipeline continues without an operator. */
  override def append(below: Seq[String], last: String): Seq[String] = below
}
