package org.apache.spark.sql.pysparkpipeline

import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution.GenerateExec

/** Joins each row with the rows that a generator makes of it. */
object GenerateRule extends OperatorRule[GenerateExec] {
  import Json._

  private val Generators = Set("Explode", "PosExplode", "Inline", "Stack", "ReplicateRows", "JsonTuple")

  override def limitation(op: GenerateExec): Option[String] =
    op.generator match {
      case known if Generators.contains(ExpressionJson.name(known)) => None
      case other => Some(s"${ExpressionOrigin.name(other)} is not supported")
    }

  override def expressions(op: GenerateExec): Seq[Expression] = Support.withoutCarried(op.generator.children)

  override def isRowwise(op: GenerateExec): Boolean = true

  override def describe(op: GenerateExec, node: ObjectNode, plan: PlanJson): Unit = {
    node.put("generator", ExpressionJson.name(op.generator)).put("outer", op.outer)
    node.set[ObjectNode]("arguments", arr(op.generator.children.map(plan.expressions.write)))
    node.set[ObjectNode]("carried", arr(op.requiredChildOutput.map(a => nodes.numberNode(a.exprId.id))))
  }

  override def label(op: GenerateExec): String = s"[${ExpressionOrigin.name(op.generator)}]"
}
