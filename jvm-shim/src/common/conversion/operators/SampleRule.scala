package org.apache.spark.sql.pysparkpipeline

import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.sql.execution.SampleExec

/** Samples without replacement. [[Placement]] keeps the rows below in the partitions and the order of Spark. */
object SampleRule extends OperatorRule[SampleExec] {

  override def limitation(op: SampleExec): Option[String] =
    if (op.withReplacement) Some("a sample with replacement is not supported")
    else if (Placement.readsUnion(op.child)) Some("a sample of a union is not supported")
    else None

  override def kind(op: SampleExec): NodeKind = NodeKind.PartitionDependent

  override def describe(op: SampleExec, node: ObjectNode, plan: PlanJson): Unit = {
    super.describe(op, node, plan)
    node.put("seed", SampleSeed.of(op))
  }
}
