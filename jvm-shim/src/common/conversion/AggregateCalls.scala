package org.apache.spark.sql.pysparkpipeline

import scala.util.Try

import org.apache.spark.sql.catalyst.expressions.{Expression, Literal}
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction
import org.apache.spark.sql.types.ArrayType

/** The arguments of aggregate functions. */
object AggregateCalls {

  /** Return `function` with constants as literals, except for its first argument; Spark evaluates them once, too. */
  def folded(function: AggregateFunction): AggregateFunction = {
    val constants = function.children.drop(1).map(constant)
    if (function.children.drop(1).corresponds(constants)(_ eq _)) function
    else function.withNewChildren(function.children.take(1) ++ constants).asInstanceOf[AggregateFunction]
  }

  /** Return the arguments that are columns or values of the engine: not an array of constants, which a case declares. */
  def held(function: AggregateFunction): Seq[Expression] = function.children.zipWithIndex.collect {
    case (argument, i) if i == 0 || !isArray(argument) => argument
  }

  private def constant(argument: Expression): Expression =
    if (!argument.foldable || argument.isInstanceOf[Literal]) argument
    else Try(Literal(argument.eval(), argument.dataType)).getOrElse(argument)

  private def isArray(argument: Expression): Boolean = argument match {
    case Literal(value, ArrayType(element, _)) => value != null && Support.isSupported(element)
    case _ => false
  }
}
