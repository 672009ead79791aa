package org.apache.spark.sql.pysparkpipeline

import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.sql.execution.{SampleExec, SparkPlan, UnionExec}
import org.apache.spark.sql.execution.exchange.Exchange

/** Samples without replacement. [[Placement]] keeps the rows below in the partitions and the order of Spark. */
object SampleRule extends OperatorRule[SampleExec] {

  override def limitation(op: SampleExec): Option[String] =
    if (op.withReplacement) Some("a sample with replacement is not supported")
    else if (readsUnion(op.child)) Some("a sample of a union is not supported")
    else None

  /** Return whether the rows of `plan` come from a union in the same stage: its partitions may have two numbers in Spark. */
  private def readsUnion(plan: SparkPlan): Boolean = plan match {
    case _: UnionExec => true
    case _: Exchange => false
    case other => other.children.exists(readsUnion)
  }

  override def kind: NodeKind = NodeKind.Placed

  override def describe(op: SampleExec, node: ObjectNode, plan: PlanJson): Unit = {
    super.describe(op, node, plan)
    node.put("seed", SampleSeed.of(op))
  }
}
