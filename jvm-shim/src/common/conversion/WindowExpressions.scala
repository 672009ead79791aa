package org.apache.spark.sql.pysparkpipeline

import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.types.IntegerType

/** Checks window functions against the manifest, and writes them as JSON. */
object WindowExpressions {

  /** The engine buffers a sliding frame and computes it anew for each row, so larger frames stay in Spark. */
  private val MaxSlidingRows = 100000

  /** Return the reason why the engine does not support `window`; None if it does. */
  def reason(window: WindowExpression, support: Support): Option[String] = {
    val called = function(window)
    lazy val cases = Manifest.windows.map { case (name, known) => name -> known.filter(c => frame(window).exists(c.frames)) }
    if (!Manifest.windows.contains(ExpressionJson.name(called))) Some(s"window function ${called.prettyName} is not supported")
    else if (sliding(window).exists { case (first, last) => last.toLong - first > MaxSlidingRows })
      Some(s"a sliding window frame of more than $MaxSlidingRows rows is not supported")
    else if (frame(window).isEmpty) Some(s"window frame ${window.windowSpec.frameSpecification.sql} is not supported")
    else aggregateReason(window).orElse(defaultReason(called)).orElse(support.first(called.children))
      .orElse(support.matching(called, cases))
  }

  /** Write `window`; `call` writes its function. */
  def write(window: WindowExpression, call: Expression => ObjectNode): ObjectNode = {
    val node = Json.obj().put("class", "WindowExpression").put("type", window.dataType.catalogString)
      .put("nullable", window.nullable).put("frame", frame(window).orNull)
    sliding(window).foreach { case (first, last) => node.putArray("bounds").add(first).add(last) }
    node.set[ObjectNode]("function", call(function(window)))
    node
  }

  private def function(window: WindowExpression): Expression = window.windowFunction match {
    case a: AggregateExpression => a.aggregateFunction
    case other => other
  }

  /** Return the engine's name of the window frame; None if it does not support the frame. */
  private def frame(window: WindowExpression): Option[String] =
    (window.windowFunction, window.windowSpec.frameSpecification) match {
      case (_: FrameLessOffsetWindowFunction, _) => Some("offset")
      case (_, SpecifiedWindowFrame(_, UnboundedPreceding, UnboundedFollowing)) => Some("whole")
      case (_, SpecifiedWindowFrame(RowFrame, UnboundedPreceding, CurrentRow)) => Some("rows")
      case (_, SpecifiedWindowFrame(RangeFrame, UnboundedPreceding, CurrentRow)) => Some("range")
      case _ => sliding(window).map(_ => "sliding")
    }

  /** Return the bounds of a sliding frame relative to the current row; preceding rows are negative. */
  private def sliding(window: WindowExpression): Option[(Int, Int)] =
    (window.windowFunction, window.windowSpec.frameSpecification) match {
      case (_: FrameLessOffsetWindowFunction, _) => None
      case (_, SpecifiedWindowFrame(RowFrame, first, last)) => for (a <- distance(first); b <- distance(last)) yield (a, b)
      case _ => None
    }

  private def distance(boundary: Expression): Option[Int] = boundary match {
    case CurrentRow => Some(0)
    case Literal(rows: Int, IntegerType) => Some(rows)
    case _ => None
  }

  private def aggregateReason(window: WindowExpression): Option[String] = window.windowFunction match {
    case a: AggregateExpression if a.isDistinct => Some("a distinct aggregate in a window is not supported")
    case a: AggregateExpression if a.filter.isDefined => Some("a filtered aggregate in a window is not supported")
    case _ => None
  }

  private def defaultReason(function: Expression): Option[String] = function match {
    case f: FrameLessOffsetWindowFunction => f.default match {
      case Literal(null, _) => None
      case l: Literal if l.dataType == f.input.dataType => None
      case other => Some(s"${f.prettyName} with the default ${other.sql} is not supported")
    }
    case _ => None
  }
}
