package org.apache.spark.sql.pysparkpipeline

import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.GenericArrayData
import org.apache.spark.sql.execution.GenerateExec
import org.apache.spark.sql.types.ArrayType

/** Joins each row with the rows that a generator makes of it. */
object GenerateRule extends OperatorRule[GenerateExec] {
  import Json._

  private val Generators = Set("Explode", "PosExplode", "Inline", "Stack", "ReplicateRows", "JsonTuple")

  /** Generators that give the same rows for each row of the input. */
  private val Constants = Set("Collations", "SQLKeywords")

  /** Return the generator that the engine runs: the rows of a constant one are written into the fragment. */
  private def generator(op: GenerateExec): Generator = op.generator match {
    case constant if Constants.contains(ExpressionJson.name(constant)) =>
      val rows = new GenericArrayData(constant.eval(InternalRow.empty).iterator.toArray[Any])
      Inline(Literal(rows, ArrayType(constant.elementSchema, containsNull = false)))
    case other => other
  }

  override def limitation(op: GenerateExec): Option[String] =
    generator(op) match {
      case known if Generators.contains(ExpressionJson.name(known)) => None
      case other => Some(s"${ExpressionOrigin.name(other)} is not supported")
    }

  override def expressions(op: GenerateExec): Seq[Expression] = Support.withoutCarried(generator(op).children)

  override def isRowwise(op: GenerateExec): Boolean = true

  override def describe(op: GenerateExec, node: ObjectNode, plan: PlanJson): Unit = {
    val written = generator(op)
    node.put("generator", ExpressionJson.name(written)).put("outer", op.outer)
    node.set[ObjectNode]("arguments", arr(written.children.map(plan.expressions.write)))
    node.set[ObjectNode]("carried", arr(op.requiredChildOutput.map(a => nodes.numberNode(a.exprId.id))))
  }

  override def label(op: GenerateExec): String = s"[${ExpressionOrigin.name(op.generator)}]"
}
