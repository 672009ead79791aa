package org.apache.spark.sql.pysparkpipeline

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateExpression, Partial}
import org.apache.spark.sql.execution.CollectMetricsExec

/** `Dataset.observe`: an instance computes the buffers of the metrics, which Spark merges ([[MetricBuffers]]). */
object CollectMetricsRule extends OperatorRule[CollectMetricsExec] {

  override def limitation(op: CollectMetricsExec): Option[String] =
    if (op.logicalLink.exists(_.isStreaming)) Some("metrics of a stream are not supported") else None

  override def expressions(op: CollectMetricsExec): Seq[Expression] = MetricBuffers.calls(op)

  /** The metrics depend on the order of the rows. */
  override def kind(op: CollectMetricsExec): NodeKind = NodeKind.PartitionDependent

  override def describe(op: CollectMetricsExec, node: ObjectNode, plan: PlanJson): Unit =
    node.set[ObjectNode]("calls", Json.arr(MetricBuffers.calls(op).map { call: AggregateExpression =>
      plan.expressions.write(call.copy(mode = Partial)): JsonNode
    }))
}
