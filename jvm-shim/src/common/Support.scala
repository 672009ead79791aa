package org.apache.spark.sql.pysparkpipeline

import com.fasterxml.jackson.databind.JsonNode

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.execution.ScalarSubquery
import org.apache.spark.sql.types._

/** Says why the engine cannot take an expression, or None where it can; compares with the manifest only. */
class Support(allowDifferences: Boolean) {

  def reason(e: Expression): Option[String] = e match {
    case a: Attribute => typeReason(a.dataType, s"column ${a.name}")
    case l: Literal => typeReason(l.dataType, "a literal")
    case s: ScalarSubquery => typeReason(s.dataType, "a scalar subquery")
    case a: AggregateExpression =>
      first(a.filter.toSeq ++ a.aggregateFunction.children)
        .orElse(matching(a.aggregateFunction, Manifest.aggregates))
        .orElse(a.aggregateFunction.aggBufferAttributes.flatMap(b => typeReason(b.dataType, "a buffer")).headOption)
    case o: SortOrder => reason(o.child)
    case w: WindowExpression => Windows.reason(w, this)
    case other => first(other.children).orElse(matching(other, Manifest.expressions))
  }

  def first(es: Seq[Expression]): Option[String] = es.iterator.flatMap(reason).nextOption()

  def typeReason(t: DataType, what: String): Option[String] =
    if (Support.isSupported(t)) None else Some(s"$what has type ${t.catalogString}, which the engine does not hold")

  /** Why none of the forms in `known` is `e`; None where one is. */
  def matching(e: Expression, known: Map[String, Seq[Manifest.Case]]): Option[String] = {
    val name = ExpressionJson.name(e)
    val shape = s"$name(${e.children.map(_.dataType.catalogString).mkString(", ")})"
    typeReason(e.dataType, shape).orElse {
      known.get(name) match {
        case None => Some(s"$name is not supported")
        case Some(cases) =>
          val fitting = cases.filter(fits(e, _))
          if (fitting.exists(_.difference.isEmpty)) None
          else fitting.flatMap(_.difference).headOption match {
            case Some(_) if allowDifferences => None
            case Some(difference) =>
              Some(s"$shape differs from Spark: $difference (${Settings.Prefix}allowDifferences=true takes it)")
            case None => Some(s"$shape${fieldText(e, cases)} is not supported")
          }
      }
    }
  }

  private def fieldText(e: Expression, cases: Seq[Manifest.Case]): String = {
    val asked = cases.flatMap(_.fieldValues.keys).toSet
    val shown = ExpressionJson.scalarFields(e).collect { case (k, v) if asked(k) => s"$k=${v.asText}" }
    if (shown.isEmpty) "" else shown.mkString(" with ", ", ", "")
  }

  private def fits(e: Expression, c: Manifest.Case): Boolean = {
    val types = e.children.map(_.dataType)
    lazy val fields: Map[String, JsonNode] = ExpressionJson.scalarFields(e).toMap
    argsFit(types.map(Support.kind), c) &&
      (!c.sameType || types.distinct.length <= 1) &&
      (c.result.isEmpty || c.result(Support.kind(e.dataType))) &&
      Support.precision(e.dataType) <= c.maxPrecision &&
      c.fieldValues.forall { case (k, allowed) => fields.get(k).exists(v => allowed(v.asText)) } &&
      c.literals.forall(i => e.children.lift(i).exists(isLiteral)) &&
      c.patterns.forall { case (i, p) => e.children.lift(i).exists(literalMatches(_, p)) }
  }

  private def argsFit(kinds: Seq[String], c: Manifest.Case): Boolean =
    if (c.variadic && c.args.nonEmpty) {
      kinds.length >= c.args.length && kinds.zipWithIndex.forall { case (k, i) =>
        c.args(math.min(i, c.args.length - 1))(k)
      }
    } else {
      kinds.length == c.args.length && kinds.zip(c.args).forall { case (k, allowed) => allowed(k) }
    }

  private def isLiteral(e: Expression): Boolean = e.isInstanceOf[Literal]

  private def literalMatches(e: Expression, pattern: String): Boolean = e match {
    case Literal(v, _) if v != null => java.util.regex.Pattern.compile(pattern, java.util.regex.Pattern.DOTALL)
      .matcher(v.toString).matches()
    case _ => false
  }
}

object Support {

  private val kinds: Map[DataType, String] = Map(
    NullType -> "void", BooleanType -> "boolean", ByteType -> "tinyint", ShortType -> "smallint",
    IntegerType -> "int", LongType -> "bigint", FloatType -> "float", DoubleType -> "double",
    StringType -> "string", BinaryType -> "binary", DateType -> "date", TimestampType -> "timestamp",
    TimestampNTZType -> "timestamp_ntz")

  def kind(t: DataType): String = t match {
    case _: DecimalType => "decimal"
    case other => kinds.getOrElse(other, other.catalogString)
  }

  def precision(t: DataType): Int = t match {
    case d: DecimalType => d.precision
    case _ => 0
  }

  def isSupported(t: DataType): Boolean = t match {
    case _: DecimalType => true
    case other => kinds.contains(other)
  }
}
