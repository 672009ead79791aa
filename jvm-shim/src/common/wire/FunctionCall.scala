package org.apache.spark.sql.pysparkpipeline

import com.fasterxml.jackson.databind.JsonNode

import org.apache.spark.sql.catalyst.expressions.{ArraySort, Cast, Expression, Literal}
import org.apache.spark.sql.catalyst.expressions.codegen.CodeGenerator
import org.apache.spark.sql.catalyst.expressions.objects.Invoke
import org.apache.spark.sql.catalyst.util.MapData
import org.apache.spark.sql.types.{MapType, ObjectType}
import org.apache.spark.unsafe.types.CalendarInterval

/**
 * A function as manifest and plans name it: mostly one expression with its children. Five forms differ:
 *
 *  - A call is joined with an argument of a type that the engine does not hold, if the manifest has the joint name: the
 *    arguments of `ElementAt(StringSplitSQL)` are those of `StringSplitSQL`, then the others of `ElementAt`; those of a
 *    constant interval of months, days and microseconds are its three numbers.
 *  - A method has the name of its class. The object is the first argument (`UTF8String.isValid`); if it is a constant
 *    that the engine does not hold, its fields are those of the call (`ParseUrlEvaluator.evaluate`).
 *  - A cast of a nested type is the function that makes the result of casts of its parts ([[NestedCasts]]).
 *  - `LIKE ALL` and `LIKE ANY` are those of single patterns ([[PatternLists]]).
 *  - A sort by a lambda that compares keys of two elements has a lambda for each key ([[ArrayComparators]]).
 */
case class FunctionCall(name: String, args: Seq[Expression], owners: Seq[Product]) {

  lazy val fields: Seq[(String, JsonNode)] = owners.flatMap(ExpressionJson.scalarFields)
}

object FunctionCall {

  def of(e: Expression): FunctionCall = e match {
    case j: JvmExpression => FunctionCall(ExpressionJson.name(j), j.columns, Nil)
    case r: JvmResults => FunctionCall("JvmExpression", r.arguments, Nil)
    case a: JvmAggregate => FunctionCall(ExpressionJson.name(a), a.columns, Nil)
    case i: Invoke => method(i)
    case c: Cast if isUnheld(c) && isSameType(c.child, c) => FunctionCall("Alias", Seq(c.child), Nil)
    case c: Cast if isUnheld(c.child) => NestedCasts.byParts(c).map(of).getOrElse(plain(c))
    case PatternLists(likes) => of(likes)
    case s: ArraySort => ArrayComparators.byKeys(s).getOrElse(plain(s))
    case other if other.children.exists(isUnheld) => joined(ExpressionJson.name(other), other).getOrElse(plain(other))
    case other => plain(other)
  }

  private def plain(e: Expression): FunctionCall = FunctionCall(ExpressionJson.name(e), e.children, Seq(e))

  private def method(i: Invoke): FunctionCall = i.targetObject match {
    case Literal(target: Product, _: ObjectType) =>
      FunctionCall(s"${target.productPrefix}.${i.functionName}", i.arguments, Seq(target))
    case target =>
      val owner = CodeGenerator.javaType(target.dataType).split('.').last
      FunctionCall(s"$owner.${i.functionName}", i.children, Seq(i))
  }

  private def joined(outer: String, e: Expression): Option[FunctionCall] = {
    val children = e.children.map(child => if (isUnheld(child)) Right(inner(child)) else Left(child))
    val inside = children.collect { case Right(call) => call }
    val name = s"$outer(${inside.map(_.name).mkString(",")})"
    if (!Manifest.expressions.contains(name)) None
    else Some(FunctionCall(name, children.flatMap(_.fold(Seq(_), _.args)), inside.flatMap(_.owners) :+ e))
  }

  private def inner(e: Expression): FunctionCall = e match {
    case Literal(map: MapData, MapType(keys, values, _)) =>
      val pairs = map.keyArray.toSeq[Any](keys).zip(map.valueArray.toSeq[Any](values))
      FunctionCall("CreateMap", pairs.flatMap { case (k, v) => Seq(Literal(k, keys), Literal(v, values)) }, Nil)
    case Literal(i: CalendarInterval, _) =>
      FunctionCall("CalendarInterval", Seq(Literal(i.months), Literal(i.days), Literal(i.microseconds)), Nil)
    case Literal(null, _) | Cast(Literal(null, _), _, _, _) => FunctionCall("Null", Nil, Nil)
    case other => plain(other)
  }

  /** Return whether two types differ at most in what may be NULL. */
  private def isSameType(left: Expression, right: Expression): Boolean = left.dataType.asNullable == right.dataType.asNullable

  private def isUnheld(e: Expression): Boolean = !Support.isSupported(e.dataType)
}
