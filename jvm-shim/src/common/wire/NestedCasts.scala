package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.trees.CurrentOrigin
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{ArrayType, DataType, MapType, StringType, StructType}

/** Casts of arrays, structs and maps, to other such types and to text, as expressions over casts of their parts. */
object NestedCasts {

  /** Return the expression that computes `cast`; None if the cast is of another kind. */
  def byParts(cast: Cast): Option[Expression] = CurrentOrigin.withOrigin(cast.origin) {
    (cast.child.dataType, cast.dataType) match {
      case (a: ArrayType, ArrayType(to, _)) => Some(elements(cast, a, to))
      case (s: StructType, to: StructType) if isRepeatable(cast, s) && s.length == to.length =>
        val named = fields(cast, s, to.map(_.dataType)).zip(to).flatMap { case (value, field) => Seq(Literal(field.name), value) }
        Some(unlessNull(cast, CreateNamedStruct(named)))
      case (a: ArrayType, StringType) if printsNull =>
        val joined = ArrayJoin(elements(cast, a, StringType), Literal(", "), Some(Null))
        Some(Concat(Seq(Literal("["), joined, Literal("]"))))
      case (m: MapType, StringType) if printsNull =>
        val joined = ArrayJoin(entries(cast, m), Literal(", "), None)
        Some(Concat(Seq(Literal("{"), joined, Literal("}"))))
      case (s: StructType, StringType) if printsNull && isRepeatable(cast, s) =>
        val texts = fields(cast, s, s.map(_ => StringType)).map(value => Coalesce(Seq(value, Null)))
        val between = texts.flatMap(Seq(Literal(", "), _)).tail
        Some(unlessNull(cast, Concat(Literal("{") +: between :+ Literal("}"))))
      case _ => None
    }
  }

  private val Null = Literal("null")

  private def elements(cast: Cast, from: ArrayType, to: DataType): Expression = {
    val element = NamedLambdaVariable("x", from.elementType, from.containsNull)
    ArrayTransform(cast.child, LambdaFunction(part(cast, element, to), Seq(element)))
  }

  private def entries(cast: Cast, from: MapType): Expression = {
    val pairs = MapEntries(cast.child)
    val pair = NamedLambdaVariable("x", pairs.dataType.asInstanceOf[ArrayType].elementType, nullable = false)
    val key = part(cast, GetStructField(pair, 0), StringType)
    val value = Coalesce(Seq(part(cast, GetStructField(pair, 1), StringType), Null))
    ArrayTransform(pairs, LambdaFunction(Concat(Seq(key, Literal(" -> "), value)), Seq(pair)))
  }

  private def fields(cast: Cast, from: StructType, to: Seq[DataType]): Seq[Expression] =
    from.indices.map(place => part(cast, GetStructField(cast.child, place), to(place)))

  private def part(cast: Cast, value: Expression, to: DataType): Expression =
    if (value.dataType == to) value else Cast(value, to, cast.timeZoneId, cast.evalMode)

  private def unlessNull(cast: Cast, value: Expression): Expression =
    If(IsNull(cast.child), Literal(null, value.dataType), value)

  /** Return whether the argument, which has some field, may be evaluated for each field. */
  private def isRepeatable(cast: Cast, struct: StructType): Boolean = struct.nonEmpty && cast.child.deterministic

  private def printsNull: Boolean = !SQLConf.get.getConf(SQLConf.LEGACY_COMPLEX_TYPES_TO_STRING)
}
