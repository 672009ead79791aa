package org.apache.spark.sql.pysparkpipeline

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.execution.ScalarSubquery
import org.apache.spark.sql.types._

/** Checks whether the engine supports an expression, by the manifest alone. A check returns the reason against it, or None. */
class Support(allowDifferences: Boolean) {

  /** Return the reason against `e`. Checks arguments before their call; uses an explicit stack instead of recursion. */
  def reason(e: Expression): Option[String] = {
    val pending = mutable.Stack((e, 1, false))
    var found = Option.empty[String]
    while (found.isEmpty && pending.nonEmpty) {
      val (next, level, areArgumentsChecked) = pending.pop()
      if (level > Support.MaxLevels) {
        found = Some(s"an expression is nested more than ${Support.MaxLevels} levels deep")
      } else if (areArgumentsChecked || Support.isCheckedAsWhole(next)) {
        found = reasonOfOne(next)
      } else {
        pending.push((next, level, true))
        Support.checkedFirst(next).reverseIterator.foreach(child => pending.push((child, level + 1, false)))
      }
    }
    found
  }

  /** Return the reason against `e` itself; its arguments are supported. */
  private def reasonOfOne(e: Expression): Option[String] = e match {
    case a: Attribute => typeReason(a.dataType, s"column ${a.name}")
    case l: Literal => typeReason(l.dataType, "a literal")
    case s: ScalarSubquery => typeReason(s.dataType, "a scalar subquery")
    case a: AggregateExpression =>
      first(a.filter.toSeq ++ a.aggregateFunction.children)
        .orElse(matching(a.aggregateFunction, Manifest.aggregates))
        .orElse(a.aggregateFunction.aggBufferAttributes.flatMap(b => typeReason(b.dataType, "a buffer")).headOption)
    case _: SortOrder => None
    case w: WindowExpression => WindowExpressions.reason(w, this)
    case other => matching(other, Manifest.expressions)
  }

  def first(es: Seq[Expression]): Option[String] = es.iterator.flatMap(reason).nextOption()

  def typeReason(t: DataType, what: String): Option[String] =
    if (Support.isSupported(t)) None else Some(s"$what has type ${t.catalogString}, which the engine does not hold")

  /** Return the reason against the first attribute of an unsupported type; `what` names the attributes in the reason. */
  def firstTypeReason(attributes: Seq[Attribute], what: String): Option[String] =
    attributes.iterator.flatMap(a => typeReason(a.dataType, s"$what ${a.name}")).nextOption()

  /** Return the reason why `e` matches none of the cases in `known`; None if it matches one. */
  def matching(e: Expression, known: Map[String, Seq[Manifest.Case]]): Option[String] = {
    val name = ExpressionJson.name(e)
    val shape = s"$name(${e.children.map(_.dataType.catalogString).mkString(", ")})"
    typeReason(e.dataType, shape).orElse {
      known.get(name) match {
        case None => Some(s"$name is not supported")
        case Some(cases) =>
          val fitting = CaseMatcher.matching(e, cases)
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
}

object Support {

  /** Python needs about ten nested calls to evaluate a level; Spark's own parser allows about as many levels. */
  private val MaxLevels = 500

  private def checkedFirst(e: Expression): Seq[Expression] = e match {
    case o: SortOrder => Seq(o.child)
    case _ => e.children
  }

  private def isCheckedAsWhole(e: Expression): Boolean = e match {
    case _: ScalarSubquery | _: AggregateExpression | _: WindowExpression => true
    case _ => e.children.isEmpty
  }

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
