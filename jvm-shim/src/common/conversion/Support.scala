package org.apache.spark.sql.pysparkpipeline

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateExpression, PartialMerge}
import org.apache.spark.sql.types._

/**
 * Checks whether the engine supports an expression, by the manifest alone. A check returns the reason against it, or None.
 * If it `leavesSlower`, it supports no function that Spark computes faster.
 */
class Support(allowDifferences: Boolean, excluded: Exclusions, leavesSlower: Boolean = false) {

  /** Return the reason against `e`. Checks arguments before their call; uses an explicit stack instead of recursion. */
  def reason(e: Expression): Option[String] = typeReason(e).orElse(argumentReason(e))

  /** Return the reason against `e` as an argument of a function, which decides whether it takes nested types. */
  def argumentReason(e: Expression): Option[String] = {
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

  /** Return the reason against `e` if it is a column of a nested type: only functions take these. */
  private def typeReason(e: Expression): Option[String] = e match {
    case a: Attribute => typeReason(a.dataType, s"column ${a.name}")
    case _ => None
  }

  /** Return the reason against `e` itself; its arguments are supported. */
  private def reasonOfOne(e: Expression): Option[String] = e match {
    case a: Attribute => heldReason(a.dataType, s"column ${a.name}")
    case v: NamedLambdaVariable => heldReason(v.dataType, s"variable ${v.name}")
    case Literal(value, kind) if !Json.isExact(value, kind) => Some(Support.OtherBytes)
    case InSet(child, values) if !values.forall(Json.isExact(_, child.dataType)) => Some(Support.OtherBytes)
    case l: Literal => heldReason(l.dataType, "a literal")
    case s if ExpressionJson.isSubquery(s) => typeReason(s.dataType, "a scalar subquery")
    case c if ExpressionJson.isConstantCall(c) => typeReason(c.dataType, "a constant")
    case a: AggregateExpression =>
      (a.filter.toSeq ++ AggregateCalls.held(AggregateCalls.folded(a.aggregateFunction))).iterator
        .flatMap(argumentReason).nextOption().orElse(aggregateReason(a))
    case s: SortOrder => comparedReason(s.child.dataType, "a sort key")
    case w: WindowExpression => WindowExpressions.reason(w, this)
    case _: JvmExpression => None
    case other => matching(other, Manifest.expressions)
  }

  /** Return the reason against an aggregate function itself; its arguments are supported. */
  private def aggregateReason(a: AggregateExpression): Option[String] =
    matching(AggregateCalls.folded(a.aggregateFunction),
      if (isDistinct(a)) Manifest.distinctAggregates else Manifest.aggregates, isResult = true)
      .orElse(a.aggregateFunction.aggBufferAttributes.flatMap(b => heldReason(b.dataType, "a buffer")).headOption)

  /**
   * Return whether `a` reads distinct values, or stands beside a function that does: then its rows come in the order of a
   * hash map. `RewriteDistinctAggregates` filters the values of several arguments by `gid`.
   */
  private def isDistinct(a: AggregateExpression): Boolean = !UnreadOrder.isMarked(a) &&
    (a.isDistinct || a.mode == PartialMerge || a.filter.exists(_.references.exists(_.name == "gid")))

  def first(es: Seq[Expression]): Option[String] = es.iterator.flatMap(reason).nextOption()

  /** Return the reasons against all unsupported parts of `es`, as the user wrote them; None if all are supported. */
  def every(es: Seq[Expression]): Option[String] = first(es).map { one =>
    val found = for (top <- es; (part, around, reason) <- unsupported(top, top, 1))
      yield (part, reason, ExpressionOrigin.location(part, around, top))
    val (columns, causes) = found.partition(_._1.isInstanceOf[Attribute]) // an operator below reports its own columns
    val located = (if (causes.nonEmpty) causes else columns).map { case (_, reason, location) => reason -> location }
    val reasons = located.map(_._1).distinct.map(r => r + ExpressionOrigin.listed(located.collect { case (`r`, l) => l }))
    val (shown, others) = reasons.splitAt(Support.MaxReasons)
    if (shown.isEmpty) one else (shown ++ others.headOption.map(_ => s"${others.length} more")).mkString("; ")
  }

  /**
   * Return the unsupported parts of `e`, without those that only have an argument of an unsupported type, and for each the
   * expression around it with a known line (at least `around`) and the reason.
   */
  private def unsupported(e: Expression, around: Expression, level: Int): Seq[(Expression, Expression, String)] =
    if (level > Support.MaxLevels) Nil
    else {
      val (called, arguments) = e match {
        case a: AggregateExpression =>
          (a.aggregateFunction, a.filter.toSeq ++ AggregateCalls.held(AggregateCalls.folded(a.aggregateFunction)))
        case _ if Support.isCheckedAsWhole(e) => (e, Nil)
        case other => (other, Support.checkedFirst(other))
      }
      val near = Seq(called, e).find(ExpressionOrigin.hasLine).getOrElse(around)
      val own = e match {
        case a: AggregateExpression => aggregateReason(a)
        case other => reasonOfOne(other)
      }
      arguments.flatMap(unsupported(_, near, level + 1)) ++
        (if (arguments.forall(a => Support.isHeld(a.dataType))) own.map((called, near, _)) else None)
    }

  def typeReason(t: DataType, what: => String): Option[String] =
    if (Support.isSupported(t)) None else Some(s"$what has type ${t.catalogString}, which the engine does not hold")

  def heldReason(t: DataType, what: => String): Option[String] =
    if (Support.isHeld(t)) None else typeReason(t, what)

  /** Return the reason against the first attribute that no column can hold; `what` names the attributes in the reason. */
  def firstHeldReason(attributes: Seq[Attribute], what: String): Option[String] =
    attributes.iterator.flatMap(a => heldReason(a.dataType, s"$what ${a.name}")).nextOption()

  /** Return the reason against the first key of a type that the engine does not compare. */
  def firstKeyReason(keys: Seq[Expression]): Option[String] =
    keys.iterator.flatMap(key => comparedReason(key.dataType, "a key")).nextOption()

  /** Return the reason against `keys`, expressions by whose values rows are compared or hashed. */
  def keyReason(keys: Seq[Expression]): Option[String] =
    first(Support.withoutCarried(keys)).orElse(firstKeyReason(keys))

  private def comparedReason(t: DataType, what: => String): Option[String] =
    if (Support.isCompared(t)) None else Some(s"$what has type ${t.catalogString}, which the engine does not compare")

  /** Return the reason why `e`, a result or else a value to hold, matches none of the cases in `known`; None if it does. */
  def matching(e: Expression, known: Map[String, Seq[Manifest.Case]], isResult: Boolean = false): Option[String] = {
    val call = FunctionCall.of(e)
    def written = ExpressionOrigin.name(e)
    def shape = s"$written(${call.args.map(_.dataType.catalogString).mkString(", ")})"
    val isTyped = isResult && Support.isHeld(e.dataType)
    def isDeclared = known.get(call.name).exists(_.exists(_.result(Support.kind(e.dataType)))) && Support.isHeld(e.dataType)
    excluded.reason(e).orElse(if (isTyped || isDeclared) None else typeReason(e.dataType, shape)).orElse {
      known.get(call.name) match {
        case None => Some(s"$written is not supported")
        case Some(cases) =>
          val fitting = CaseMatcher.matching(e, cases)
          if (leavesSlower && fitting.headOption.exists(CaseMatcher.isSlower(e, _))) Some(s"Spark computes $shape faster")
          else if (fitting.exists(_.difference.isEmpty)) None
          else fitting.flatMap(_.difference).headOption match {
            case Some(_) if allowDifferences => None
            case Some(difference) =>
              Some(s"$shape differs from Spark: $difference (${Settings.Prefix}allowDifferences=true takes it)")
            case None => Some(s"$shape${fieldText(call, cases)} " +
              CaseMatcher.missingPackage(e, cases).getOrElse("is not supported"))
          }
      }
    }
  }

  private def fieldText(call: FunctionCall, cases: Seq[Manifest.Case]): String = {
    val asked = cases.flatMap(_.fieldValues.keys).toSet
    val shown = call.fields.collect { case (k, v) if asked(k) => s"$k=${v.asText}" }
    if (shown.isEmpty) "" else shown.mkString(" with ", ", ", "")
  }
}

object Support {

  /** Python needs about ten nested calls to evaluate a level; Spark's own parser allows about as many levels. */
  private val MaxLevels = 500

  private val OtherBytes = "a constant string whose bytes are not UTF-8 is not supported"

  /** The reasons that are listed of an operator. */
  private val MaxReasons = 10

  private def checkedFirst(e: Expression): Seq[Expression] = e match {
    case o: SortOrder => Seq(o.child)
    case _ => FunctionCall.of(e).args
  }

  private def isCheckedAsWhole(e: Expression): Boolean = e match {
    case _: AggregateExpression | _: WindowExpression => true
    case e if ExpressionJson.isSubquery(e) => true
    case _ => e.children.isEmpty
  }

  private val kinds: Map[DataType, String] = Map(
    NullType -> "void", BooleanType -> "boolean", ByteType -> "tinyint", ShortType -> "smallint",
    IntegerType -> "int", LongType -> "bigint", FloatType -> "float", DoubleType -> "double",
    StringType -> "string", BinaryType -> "binary", DateType -> "date", TimestampType -> "timestamp",
    TimestampNTZType -> "timestamp_ntz")

  def kind(t: DataType): String = t match {
    case _: DecimalType => "decimal"
    case _: TimeType => "time"
    case _: StructType => "struct"
    case _: ArrayType => "array"
    case _: MapType => "map"
    case other => kinds.getOrElse(other, wireName(other))
  }

  /**
   * Return the name of a type in plans; all day-time intervals have one name, and all year-month intervals. Elements, values
   * of maps and fields that are never NULL have a mark. A string of Spark's own collation, which may be explicit, is a string.
   */
  def wireName(t: DataType): String = t match {
    case _: DayTimeIntervalType => "interval day to second"
    case _: YearMonthIntervalType => "interval year to month"
    case s: StructType =>
      s.map(field => s"${Json.text(field.name)}:${wireName(field.dataType, field.nullable)}").mkString("struct<", ",", ">")
    case a: ArrayType => s"array<${wireName(a.elementType, a.containsNull)}>"
    case m: MapType => s"map<${wireName(m.keyType)},${wireName(m.valueType, m.valueContainsNull)}>"
    case other => kinds.getOrElse(other, other.catalogString)
  }

  private def wireName(t: DataType, isNullable: Boolean): String = wireName(t) + (if (isNullable) "" else "!")

  def precision(t: DataType): Int = t match {
    case d: DecimalType => d.precision
    case t: TimeType => t.precision
    case nested => children(nested).map(precision).maxOption.getOrElse(0)
  }

  /** Return whether functions take and return values of type `t`. */
  def isSupported(t: DataType): Boolean = t match {
    case _: DecimalType | _: TimeType | _: DayTimeIntervalType | _: YearMonthIntervalType => true
    case other => kinds.contains(other)
  }

  /**
   * Return whether a column may have type `t`: operators carry it, and it leaves the engine as a result. Spark's Arrow
   * schemas have no two fields of one name in a struct, and Arrow has no maps of NULL keys (`map()`).
   */
  def isHeld(t: DataType): Boolean = t match {
    case a: ArrayType => isHeld(a.elementType)
    case m: MapType => m.keyType != NullType && isHeld(m.keyType) && isHeld(m.valueType)
    case s: StructType => s.nonEmpty && s.fieldNames.distinct.length == s.length && s.forall(field => isHeld(field.dataType))
    case other => isSupported(other)
  }

  /** Return whether rows may be grouped, joined, sorted and hashed by values of type `t`. */
  def isCompared(t: DataType): Boolean = t match {
    case a: ArrayType => isCompared(a.elementType)
    case s: StructType => isHeld(s) && s.forall(field => isCompared(field.dataType))
    case other => isSupported(other)
  }

  /** Return the types of which a nested type consists. */
  def children(t: DataType): Seq[DataType] = t match {
    case a: ArrayType => Seq(a.elementType)
    case m: MapType => Seq(m.keyType, m.valueType)
    case s: StructType => s.map(_.dataType)
    case _ => Nil
  }

  /** Return the expressions but those that only carry a column of a nested type. */
  def withoutCarried(es: Seq[Expression]): Seq[Expression] = es.filterNot(isCarried)

  /** Return whether `e` is only a column of a nested type. */
  def isCarried(e: Expression): Boolean = e match {
    case Alias(a: Attribute, _) => isCarried(a)
    case a: Attribute => !isSupported(a.dataType) && isHeld(a.dataType)
    case _ => false
  }
}
