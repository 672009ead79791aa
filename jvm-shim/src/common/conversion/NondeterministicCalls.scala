package org.apache.spark.sql.pysparkpipeline

import scala.collection.mutable.ArrayBuffer

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution.SparkPlan

/**
 * Takes calls of nondeterministic functions (`rand(3)`) out of the expressions of an operator: the engine computes them for
 * all rows of the input, as a column each. So an expression must call them for every row: not in a branch, and not after
 * an argument whose NULL ends the evaluation.
 */
object NondeterministicCalls {

  def in(e: Expression): Boolean = e.exists(isCall)

  def in(es: Seq[Expression]): Boolean = es.exists(in(_: Expression))

  private def isCall(e: Expression): Boolean = Manifest.nondeterministic.contains(ExpressionJson.name(e))

  /** Return the reason why the engine cannot compute the calls in `es`, which `op` evaluates one after the other. */
  def reason(op: SparkPlan, es: Seq[Expression], support: Support): Option[String] = {
    val calls = es.flatMap(_.collect { case call if isCall(call) => call })
    calls.iterator.flatMap(support.matching(_, Manifest.nondeterministic)).nextOption()
      .orElse(calls.iterator.flatMap(call => call.children.flatMap(argumentReason(call, _, support))).nextOption())
      .orElse(es.iterator.flatMap(skipped).nextOption().map { call =>
        s"${ExpressionJson.name(call)} is not evaluated for every row"
      })
      .orElse(calls.headOption.filter(_ => op.children.exists(Placement.readsUnion)).map { call =>
        s"${ExpressionJson.name(call)} above a union is not supported"
      })
  }

  /**
   * Return the reason against an argument of a call: it is computed before the other expressions of the operator, so
   * one that can raise an error is not supported.
   */
  private def argumentReason(call: Expression, e: Expression, support: Support): Option[String] =
    if (e.children.isEmpty || e.isInstanceOf[CreateArray] && e.children.forall(isColumnOrConstant)) support.argumentReason(e)
    else Some(s"${ExpressionJson.name(call)} of a computed ${e.dataType.typeName} is not supported")

  private def isColumnOrConstant(e: Expression): Boolean = e match {
    case c: Cast => c.child.children.isEmpty && Cast.canUpCast(c.child.dataType, c.dataType)
    case other => other.children.isEmpty
  }

  /** Return a call in `e` that Spark may not evaluate for every row for which it evaluates `e`. */
  private def skipped(e: Expression): Option[Expression] =
    if (isCall(e) || !in(e)) None
    else e.children.zipWithIndex.collectFirst {
      case (child, i) if in(child) && !isAlwaysEvaluated(e, i) => child.find(isCall).get
    }.orElse(e.children.iterator.flatMap(skipped).nextOption())

  private def isAlwaysEvaluated(e: Expression, i: Int): Boolean = {
    val others = e.children.patch(i, Nil, 1)
    e match {
      case _: LambdaFunction => false
      case _ if others.forall(isValue) => true
      case _: DivModLike | _: Pmod => false // evaluate the divisor first
      case _: Add | _: Subtract | _: Multiply | _: BinaryComparison => i == 0 || !e.children.head.nullable
      case _ => i == 0
    }
  }

  private def isValue(e: Expression): Boolean = e match {
    case Literal(value, _) => value != null
    case _ => false
  }

  /** Return `es` with a column instead of each call, and the calls with the columns' ids. */
  def extract[E <: Expression](es: Seq[E]): (Seq[E], Seq[(ExprId, Expression)]) = {
    val calls = ArrayBuffer.empty[(ExprId, Expression)]
    val rest = es.map(_.transformUp {
      case call if isCall(call) =>
        val column = AttributeReference(ExpressionJson.name(call), call.dataType, call.nullable)()
        calls += column.exprId -> call
        column
    }.asInstanceOf[E])
    (rest, calls.toSeq)
  }

  def write(calls: Seq[(ExprId, Expression)], plan: PlanJson): ArrayNode =
    Json.arr(calls.map { case (id, call) =>
      val node = Json.obj().put("id", id.id)
      node.set[ObjectNode]("call", plan.expressions.write(call))
      node: JsonNode
    })
}
