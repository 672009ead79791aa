package org.apache.spark.sql.pysparkpipeline

import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.execution.{SortExec, SparkPlan}
import org.apache.spark.sql.execution.window.{WindowExec, WindowGroupLimitExec}
import org.apache.spark.sql.types.IntegerType

/** Window functions in the engine: a window sorts its rows itself and so loses the sort below it. */
object Windows {

  /** A frame of more rows is held and computed in one piece for every row. */
  private val MostSlidingRows = 100000

  def isWindow(plan: SparkPlan): Boolean = plan match {
    case _: WindowExec | _: WindowGroupLimitExec => true
    case _ => false
  }

  /** The window without the sort below it. */
  def unsorted(window: SparkPlan): SparkPlan = window.children match {
    case Seq(SortExec(_, false, below, _)) => window.withNewChildren(Seq(below))
    case _ => window
  }

  /** The expressions that the engine evaluates; of a limit by rank it knows which rank. */
  def expressions(plan: SparkPlan): Seq[Expression] = plan match {
    case limit: WindowGroupLimitExec => limit.partitionSpec ++ limit.orderSpec
    case other => other.expressions
  }

  def reason(window: WindowExpression, support: Support): Option[String] = {
    val called = function(window)
    lazy val cases = Manifest.windows.map { case (name, known) => name -> known.filter(c => frame(window).exists(c.frames)) }
    if (!Manifest.windows.contains(ExpressionJson.name(called))) Some(s"window function ${called.prettyName} is not supported")
    else if (sliding(window).exists { case (first, last) => last.toLong - first > MostSlidingRows })
      Some(s"a sliding window frame of more than $MostSlidingRows rows is not supported")
    else if (frame(window).isEmpty) Some(s"window frame ${window.windowSpec.frameSpecification.sql} is not supported")
    else aggregateReason(window).orElse(defaultReason(called)).orElse(support.first(called.children))
      .orElse(support.matching(called, cases))
  }

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

  /** The frame by the engine's name for it; None where it knows none like it. */
  private def frame(window: WindowExpression): Option[String] =
    (window.windowFunction, window.windowSpec.frameSpecification) match {
      case (_: FrameLessOffsetWindowFunction, _) => Some("offset")
      case (_, SpecifiedWindowFrame(_, UnboundedPreceding, UnboundedFollowing)) => Some("whole")
      case (_, SpecifiedWindowFrame(RowFrame, UnboundedPreceding, CurrentRow)) => Some("rows")
      case (_, SpecifiedWindowFrame(RangeFrame, UnboundedPreceding, CurrentRow)) => Some("range")
      case _ => sliding(window).map(_ => "sliding")
    }

  /** The rows after the current one with which a sliding frame begins and ends; before it they are negative. */
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
