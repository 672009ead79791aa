package org.apache.spark.sql.pysparkpipeline

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.api.python.{PythonEvalType, PythonFunction}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.python._

/** Calls Python functions with the rows of each group. The engine sorts the input by the keys itself, as for a window. */
trait GroupedPythonRule[T <: SparkPlan] extends WindowLikeRule[T] {
  import Json._

  protected def keys(op: T): Seq[Expression]

  protected def calls(op: T): Seq[PythonFuncExpression]

  override def limitation(op: T): Option[String] =
    if (PipelineShuffleExchangeExec.drivers(op.session.sparkContext.conf) > 1)
      PythonFunctions.other(calls(op), "over groups are not supported with spark.task.cpus above 1: the rows of a group have an order")
    else PythonFunctions.arrowLimitation(op, calls(op))

  override def pythonFunctions(op: T): Seq[PythonFunction] = PythonFunctions.of(calls(op))

  override def label(op: T): String = calls(op).map(_.name).mkString("[", ", ", "]")

  protected def describeGroups(
      op: T, evalType: Int, node: ObjectNode, plan: PlanJson, settings: Map[String, String] = Map.empty): Unit = {
    PythonFunctions.describe(calls(op), evalType, op.conf.arrowMaxRecordsPerBatch, node, plan, settings)
    node.set[ObjectNode]("keys", arr(keys(op).map(e => plan.expressions.write(e): JsonNode)))
  }
}

object FlatMapGroupsInPandasRule extends FlatMapGroupsRule[FlatMapGroupsInPandasExec]

object FlatMapGroupsInArrowRule extends FlatMapGroupsRule[FlatMapGroupsInArrowExec]

/** `applyInPandas` and `applyInArrow`: a function from the rows of a group to any number of rows. */
abstract class FlatMapGroupsRule[T <: FlatMapGroupsInBatchExec] extends GroupedPythonRule[T] {
  import Json._

  private def call(op: T): PythonUDF = op.func.asInstanceOf[PythonUDF]

  override protected def keys(op: T): Seq[Expression] = op.groupingAttributes

  override protected def calls(op: T): Seq[PythonFuncExpression] = Seq(call(op))

  override def limitation(op: T): Option[String] =
    GroupColumns.limitation(op, calls(op), Seq(columns(op))).orElse(super.limitation(op))

  private def columns(op: T): GroupColumns = GroupColumns(op.groupingAttributes, op.children.head.output.drop(op.groupingAttributes.length))

  override def expressions(op: T): Seq[Expression] = op.groupingAttributes

  override def describe(op: T, node: ObjectNode, plan: PlanJson): Unit = {
    describeGroups(op, call(op).evalType, node, plan)
    GroupColumns.describe(Seq(columns(op)), node, plan)
  }
}

object FlatMapCoGroupsInPandasRule extends FlatMapCoGroupsRule[FlatMapCoGroupsInPandasExec]

object FlatMapCoGroupsInArrowRule extends FlatMapCoGroupsRule[FlatMapCoGroupsInArrowExec]

/** `applyInPandas` and `applyInArrow` of cogroups: a function from the rows of two groups with equal keys to any number of rows. */
abstract class FlatMapCoGroupsRule[T <: FlatMapCoGroupsInBatchExec] extends GroupedPythonRule[T] {
  import Json._

  private def call(op: T): PythonUDF = op.func.asInstanceOf[PythonUDF]

  override protected def keys(op: T): Seq[Expression] = op.leftGroup

  override protected def calls(op: T): Seq[PythonFuncExpression] = Seq(call(op))

  override def limitation(op: T): Option[String] =
    if (op.leftGroup.map(_.dataType) != op.rightGroup.map(_.dataType)) PythonFunctions.other(calls(op), "over keys of two types are not supported")
    else GroupColumns.limitation(op, calls(op), sides(op)).orElse(super.limitation(op))

  private def sides(op: T): Seq[GroupColumns] = Seq(
    GroupColumns(op.leftGroup, op.left.output.drop(op.leftGroup.length)), GroupColumns(op.rightGroup, op.right.output.drop(op.rightGroup.length)))

  override def expressions(op: T): Seq[Expression] = op.leftGroup ++ op.rightGroup

  override def describe(op: T, node: ObjectNode, plan: PlanJson): Unit = {
    describeGroups(op, call(op).evalType, node, plan)
    node.set[ObjectNode]("rightKeys", arr(op.rightGroup.map(e => plan.expressions.write(e): JsonNode)))
    GroupColumns.describe(sides(op), node, plan)
  }
}

/** The keys and the columns `data` of groups. A function gets each column once, the keys first, as `PandasGroupUtils` sends them. */
case class GroupColumns(keys: Seq[Attribute], data: Seq[Attribute]) {

  val sent: Seq[Attribute] = keys.filterNot(key => data.exists(_.semanticEquals(key))) ++ data

  /** The number of the offsets that follow, that of the keys, and the places of keys and data among the columns. */
  def offsets: Seq[Int] = {
    val places = keys.map(key => sent.indexWhere(_.semanticEquals(key))) ++ (sent.length - data.length until sent.length)
    Seq(places.length + 1, keys.length) ++ places
  }
}

object GroupColumns {
  import Json._

  /** Return the reason why the functions `calls` of `op` cannot get the columns of `sides`. */
  def limitation(op: SparkPlan, calls: Seq[PythonFuncExpression], sides: Seq[GroupColumns]): Option[String] =
    if (op.conf.pysparkArrowValidateSchema) PythonFunctions.other(calls, "whose schema Spark validates are not supported")
    else if (sides.map(_.data.map(_.name)).exists(names => names.distinct.length < names.length))
      PythonFunctions.other(calls, "over columns of one name are not supported")
    else None

  /** Add the columns of each of `sides`, and the offsets of all, to the JSON `node` of an operator. */
  def describe(sides: Seq[GroupColumns], node: ObjectNode, plan: PlanJson): Unit = {
    node.set[ObjectNode]("sides", arr(sides.map { side =>
      val json = obj()
      json.set[ObjectNode]("sent", arr(side.sent.map(a => plan.expressions.write(a): JsonNode)))
      json.set[ObjectNode]("names", arr(side.sent.map(a => text(a.name))))
      json: JsonNode
    }))
    val offsets = node.putArray("offsets")
    sides.flatMap(_.offsets).foreach(offsets.add)
  }
}

/** `pandas_udf` and `arrow_udf` that aggregate: a function from columns of a group to one value. */
object ArrowAggregatePythonRule extends GroupedPythonRule[ArrowAggregatePythonExec] {
  import Json._

  /** `SQL_GROUPED_AGG_PANDAS_ITER_UDF` and `SQL_GROUPED_AGG_ARROW_ITER_UDF`, which Spark 4.1 has no names for. */
  private val OverIterators = Set(217, 254)

  private val EvalTypes = OverIterators ++ Set(PythonEvalType.SQL_GROUPED_AGG_PANDAS_UDF, PythonEvalType.SQL_GROUPED_AGG_ARROW_UDF)

  override protected def keys(op: ArrowAggregatePythonExec): Seq[Expression] = op.groupingExpressions

  override protected def calls(op: ArrowAggregatePythonExec): Seq[PythonFuncExpression] = op.udfExpressions

  override def limitation(op: ArrowAggregatePythonExec): Option[String] =
    if (op.sessionWindowOption.isDefined) PythonFunctions.other(calls(op), "over session windows are not supported")
    else if (!EvalTypes.contains(op.evalType)) PythonFunctions.other(calls(op), "of this form are not supported")
    else if (op.aggExpressions.exists(a => a.isDistinct || a.filter.isDefined))
      PythonFunctions.other(calls(op), "over distinct or filtered rows are not supported")
    else super.limitation(op)

  override def expressions(op: ArrowAggregatePythonExec): Seq[Expression] =
    op.groupingExpressions ++ PythonFunctions.arguments(calls(op)) ++ op.resultExpressions

  override def describe(op: ArrowAggregatePythonExec, node: ObjectNode, plan: PlanJson): Unit = {
    describeGroups(op, op.evalType, node, plan)
    val columns = op.groupingExpressions.map(_.toAttribute) ++ op.aggExpressions.map(_.resultAttribute)
    node.set[ObjectNode]("columns", arr(columns.map(a => attribute(a): JsonNode)))
    node.set[ObjectNode]("results", arr(op.resultExpressions.map(e => plan.expressions.write(e): JsonNode)))
  }
}

/** `pandas_udf` and `arrow_udf` over windows: a function from columns of a frame's rows to one value. */
object ArrowWindowPythonRule extends GroupedPythonRule[ArrowWindowPythonExec] {
  import Json._

  private def windows(op: ArrowWindowPythonExec): Seq[WindowExpression] =
    op.windowExpression.flatMap(_.collect { case w: WindowExpression => w })

  override protected def keys(op: ArrowWindowPythonExec): Seq[Expression] = op.partitionSpec

  override protected def calls(op: ArrowWindowPythonExec): Seq[PythonFuncExpression] =
    windows(op).map(_.windowFunction).collect { case AggregateExpression(f: PythonUDAF, _, _, _, _) => f }

  override def limitation(op: ArrowWindowPythonExec): Option[String] = {
    val isCallEach = op.windowExpression.forall { case Alias(_: WindowExpression, _) => true; case _ => false }
    if (!isCallEach || calls(op).length < op.windowExpression.length)
      PythonFunctions.other(calls(op), "within expressions of windows are not supported")
    else windows(op).collectFirst { case w if WindowExpressions.frame(w).isEmpty => WindowExpressions.unsupportedFrame(w) }
      .orElse(super.limitation(op))
  }

  override def expressions(op: ArrowWindowPythonExec): Seq[Expression] =
    op.partitionSpec ++ op.orderSpec ++ PythonFunctions.arguments(calls(op))

  override def describe(op: ArrowWindowPythonExec, node: ObjectNode, plan: PlanJson): Unit = {
    val frames = windows(op).map(WindowExpressions.writeFrame(_, obj()))
    val kinds = frames.map(frame => if (frame.path("frame").asText == WindowExpressions.Whole) "unbounded" else "bounded")
    describeGroups(op, op.evalType, node, plan, Map("window_bound_types" -> kinds.mkString(",")))
    node.set[ObjectNode]("frames", arr(frames))
    node.set[ObjectNode]("order", arr(op.orderSpec.map(e => plan.expressions.write(e): JsonNode)))
  }
}
