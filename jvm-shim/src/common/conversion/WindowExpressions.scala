package org.apache.spark.sql.pysparkpipeline

import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.util.{DateTimeConstants, DateTimeUtils}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._

/** Checks window functions against the manifest, and writes them as JSON. */
object WindowExpressions {

  /** Return the reason why the engine does not support `window`; None if it does. */
  def reason(window: WindowExpression, support: Support): Option[String] = {
    val called = function(window)
    lazy val cases = Manifest.windows.map { case (name, known) => name -> known.filter(c => frame(window).exists(c.frames)) }
    if (!Manifest.windows.contains(ExpressionJson.name(called))) Some(s"window function ${called.prettyName} is not supported")
    else frameReason(window).orElse(aggregateReason(window)).orElse(defaultReason(called))
      .orElse(support.first(Support.withoutCarried(called.children)))
      .orElse(support.matching(called, cases, isResult = true))
  }

  /** Write `window`; `call` writes its function. */
  def write(window: WindowExpression, call: Expression => ObjectNode): ObjectNode = {
    val node = Json.obj().put("class", "WindowExpression").put("type", Support.wireName(window.dataType))
      .put("nullable", window.nullable)
    writeFrame(window, node).set[ObjectNode]("function", call(function(window)))
    node
  }

  /** Add the frame of `window` to `node`, and return it. */
  def writeFrame(window: WindowExpression, node: ObjectNode): ObjectNode = {
    node.put("frame", frame(window).orNull)
    bounds(window).foreach { case (lower, upper) => node.putArray("bounds").add(lower).add(upper) }
    node
  }

  /** Return the reason why the engine does not support the frame of `window`; None if it does. */
  def frameReason(window: WindowExpression): Option[String] =
    if (frame(window).isDefined) None else Some(s"window frame ${window.windowSpec.frameSpecification.sql} is not supported")

  /** The frame of all rows of the partition. */
  val Whole = "whole"

  private def function(window: WindowExpression): Expression = window.windowFunction match {
    case a: AggregateExpression => AggregateCalls.folded(a.aggregateFunction)
    case other => other
  }

  /** Return the engine's name of the window frame; None if it does not support the frame. */
  private def frame(window: WindowExpression): Option[String] =
    (window.windowFunction, window.windowSpec.frameSpecification) match {
      case (_: FrameLessOffsetWindowFunction, _) => Some("offset")
      case (_, SpecifiedWindowFrame(_, UnboundedPreceding, UnboundedFollowing)) => Some(Whole)
      case (_, SpecifiedWindowFrame(RowFrame, UnboundedPreceding, CurrentRow)) => Some("rows")
      case (_, SpecifiedWindowFrame(RangeFrame, UnboundedPreceding, CurrentRow)) => Some("range")
      case _ => bounds(window).map(_ => "sliding")
    }

  /** Return the lower and the upper bound of any other frame. */
  private def bounds(window: WindowExpression): Option[(ObjectNode, ObjectNode)] =
    (window.windowFunction, window.windowSpec.frameSpecification) match {
      case (_: FrameLessOffsetWindowFunction, _) => None
      case (_, SpecifiedWindowFrame(kind, lower, upper)) =>
        val order = window.windowSpec.orderSpec
        for (first <- bound(kind, lower, order); last <- bound(kind, upper, order)) yield (first, last)
      case _ => None
    }

  /** Return a bound; rows that precede the current row are negative. */
  private def bound(kind: FrameType, boundary: Expression, order: Seq[SortOrder]): Option[ObjectNode] = (kind, boundary) match {
    case (_, UnboundedPreceding | UnboundedFollowing) => Some(Json.obj().put("kind", "unbounded"))
    case (RowFrame, CurrentRow) => Some(Json.obj().put("kind", "rows"))
    case (RowFrame, Literal(rows: Int, IntegerType)) => Some(Json.obj().put("kind", "rows").put("offset", rows))
    case (RangeFrame, CurrentRow) => Some(Json.obj().put("kind", "peers"))
    case (RangeFrame, offset: Literal) if offset.value != null && order.length == 1 =>
      this.offset(order.head.child.dataType, offset).map(_.put("kind", "values"))
    case _ => None
  }

  /** Return the offset of a bound from the order value; None if the engine does not compute the bound as Spark. */
  private def offset(ordered: DataType, offset: Literal): Option[ObjectNode] = (ordered, offset.value, offset.dataType) match {
    case (d: DecimalType, _, _) if d.precision > MaxDigits => None
    case (_: NumericType, value, same) if same == ordered && !isLeast(value) =>
      val node = Json.obj()
      node.set[ObjectNode]("offset", Json.value(value, same))
      Some(node)
    case (DateType, days: Int, IntegerType) if !isLeast(days) => Some(Json.obj().put("offset", days))
    case (DateType, micros: Long, _: DayTimeIntervalType) =>
      Some(Json.obj().put("offset", (micros / DateTimeConstants.MICROS_PER_DAY).toInt))
    case (DateType, months: Int, _: YearMonthIntervalType) if !isLeast(months) => Some(this.months(months))
    case (TimestampNTZType, months: Int, _: YearMonthIntervalType) if !isLeast(months) => Some(this.months(months))
    case (TimestampType, months: Int, _: YearMonthIntervalType) if !isLeast(months) && isZoneFixed => Some(this.months(months))
    case (TimestampNTZType, micros: Long, _: DayTimeIntervalType) if !isLeast(micros) => Some(Json.obj().put("offset", micros))
    case (TimestampType, micros: Long, _: DayTimeIntervalType)
        if !isLeast(micros) && (isZoneFixed || math.abs(micros) < DateTimeConstants.MICROS_PER_DAY) =>
      Some(Json.obj().put("offset", micros))
    case _ => None
  }

  /** Spark rounds the sums of larger decimals to 34 digits. */
  private val MaxDigits = 33

  private def months(number: Int): ObjectNode = Json.obj().put("offset", number).put("unit", "months")

  /** Spark inverts the offsets of descending orders, which overflows for the least value. */
  private def isLeast(value: Any): Boolean = value match {
    case n: Byte => n == Byte.MinValue
    case n: Short => n == Short.MinValue
    case n: Int => n == Int.MinValue
    case n: Long => n == Long.MinValue
    case _ => false
  }

  /** Whether all days of the session's time zone have 24 hours. */
  private def isZoneFixed: Boolean =
    DateTimeUtils.getZoneId(SQLConf.get.sessionLocalTimeZone).getRules.isFixedOffset

  private def aggregateReason(window: WindowExpression): Option[String] = window.windowFunction match {
    case a: AggregateExpression if a.isDistinct => Some("a distinct aggregate in a window is not supported")
    case a: AggregateExpression if a.filter.isDefined => Some("a filtered aggregate in a window is not supported")
    case _ => None
  }

  private def defaultReason(function: Expression): Option[String] = function match {
    case f: FrameLessOffsetWindowFunction => f.default match {
      case Literal(null, _) => None
      case _: Literal | _: Attribute if f.default.dataType == f.input.dataType => None
      case other => Some(s"${f.prettyName} with the default ${other.sql} is not supported")
    }
    case _ => None
  }
}
