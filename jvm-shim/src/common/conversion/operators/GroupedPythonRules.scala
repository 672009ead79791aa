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

  protected def calls(op: T): Seq[PythonFuncExpression]

  override def limitation(op: T): Option[String] =
    if (PipelineShuffleExchangeExec.drivers(op.session.sparkContext.conf) > 1)
      PythonFunctions.other(calls(op), "over groups are not supported with spark.task.cpus above 1: the rows of a group have an order")
    else PythonFunctions.arrowLimitation(op, calls(op))

  override def pythonFunctions(op: T): Seq[PythonFunction] = PythonFunctions.of(calls(op))

  override def label(op: T): String = calls(op).map(_.name).mkString("[", ", ", "]")

  /** Add the calls to the operator's JSON `node`; `settings` are for the worker, besides those of the session. */
  protected def describeCalls(
      op: T, evalType: Int, node: ObjectNode, plan: PlanJson, settings: Map[String, String] = Map.empty): Unit =
    PythonFunctions.describe(calls(op), evalType, op.conf.arrowMaxRecordsPerBatch, node, plan, settings)

  protected def written(expressions: Seq[Expression], plan: PlanJson): JsonNode =
    arr(expressions.map(e => plan.expressions.write(e): JsonNode))
}

object FlatMapGroupsInPandasRule extends FlatMapGroupsRule[FlatMapGroupsInPandasExec]

object FlatMapGroupsInArrowRule extends FlatMapGroupsRule[FlatMapGroupsInArrowExec]

/** `applyInPandas` and `applyInArrow` of groups. */
abstract class FlatMapGroupsRule[T <: FlatMapGroupsInBatchExec] extends MapGroupsRule[T] {
  override protected def function(op: T): Expression = op.func

  override protected def sides(op: T): Seq[GroupColumns] = Seq(GroupColumns.of(op.groupingAttributes, op.child))
}

object FlatMapCoGroupsInPandasRule extends FlatMapCoGroupsRule[FlatMapCoGroupsInPandasExec]

object FlatMapCoGroupsInArrowRule extends FlatMapCoGroupsRule[FlatMapCoGroupsInArrowExec]

/** `applyInPandas` and `applyInArrow` of cogroups: a function from the rows of two groups with equal keys. */
abstract class FlatMapCoGroupsRule[T <: FlatMapCoGroupsInBatchExec] extends MapGroupsRule[T] {
  override protected def function(op: T): Expression = op.func

  override protected def sides(op: T): Seq[GroupColumns] =
    Seq(GroupColumns.of(op.leftGroup, op.left), GroupColumns.of(op.rightGroup, op.right))

  override def limitation(op: T): Option[String] =
    if (op.leftGroup.map(_.dataType) != op.rightGroup.map(_.dataType)) PythonFunctions.other(calls(op), "over keys of two types are not supported")
    else super.limitation(op)
}

/** A function from the rows of a group, or of one group of each input, to any number of rows. */
trait MapGroupsRule[T <: SparkPlan] extends GroupedPythonRule[T] {
  import Json._

  protected def function(op: T): Expression

  /** Return the columns of each input. */
  protected def sides(op: T): Seq[GroupColumns]

  private def call(op: T): PythonUDF = function(op).asInstanceOf[PythonUDF]

  override protected def calls(op: T): Seq[PythonFuncExpression] = Seq(call(op))

  override def limitation(op: T): Option[String] = {
    val names = sides(op).map(_.data.map(_.name))
    if (op.conf.pysparkArrowValidateSchema) PythonFunctions.other(calls(op), "whose schema Spark validates are not supported")
    else if (names.exists(side => side.distinct.length < side.length)) PythonFunctions.other(calls(op), "over columns of one name are not supported")
    else super.limitation(op)
  }

  override def expressions(op: T): Seq[Expression] = sides(op).flatMap(_.keys)

  override def describe(op: T, node: ObjectNode, plan: PlanJson): Unit = {
    describeCalls(op, call(op).evalType, node, plan)
    node.set[ObjectNode]("sides", arr(sides(op).map { side =>
      val json = obj()
      json.set[ObjectNode]("keys", written(side.keys, plan))
      json.set[ObjectNode]("sent", written(side.sent, plan))
      json.set[ObjectNode]("names", arr(side.sent.map(a => text(a.name))))
      json: JsonNode
    }))
    val offsets = node.putArray("offsets")
    sides(op).flatMap(_.offsets).foreach(offsets.add)
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
  /** Return the columns of `plan`, whose first columns are the grouping `keys`. */
  def of(keys: Seq[Attribute], plan: SparkPlan): GroupColumns = GroupColumns(keys, plan.output.drop(keys.length))
}

/** `pandas_udf` and `arrow_udf` that aggregate: a function from columns of a group to one value. */
object ArrowAggregatePythonRule extends GroupedPythonRule[ArrowAggregatePythonExec] {
  import Json._

  /** `SQL_GROUPED_AGG_PANDAS_ITER_UDF` and `SQL_GROUPED_AGG_ARROW_ITER_UDF`, which Spark 4.1 has no names for. */
  private val OverIterators = Set(217, 254)

  private val EvalTypes = OverIterators ++ Set(PythonEvalType.SQL_GROUPED_AGG_PANDAS_UDF, PythonEvalType.SQL_GROUPED_AGG_ARROW_UDF)

  override protected def calls(op: ArrowAggregatePythonExec): Seq[PythonFuncExpression] = op.udfExpressions

  override def limitation(op: ArrowAggregatePythonExec): Option[String] =
    if (op.sessionWindowOption.isDefined) PythonFunctions.other(calls(op), "over session windows are not supported")
    else if (!EvalTypes.contains(op.evalType)) PythonFunctions.other(calls(op), "of this form are not supported")
    else if (op.aggExpressions.exists(a => a.isDistinct || a.filter.isDefined))
      PythonFunctions.other(calls(op), "over distinct or filtered rows are not supported")
    else super.limitation(op).orElse(PythonFunctions.resultLimitation(calls(op), calls(op).map(_.dataType)))

  override def expressions(op: ArrowAggregatePythonExec): Seq[Expression] =
    Support.withoutCarried(op.groupingExpressions ++ PythonFunctions.arguments(calls(op)) ++ op.resultExpressions)

  override def describe(op: ArrowAggregatePythonExec, node: ObjectNode, plan: PlanJson): Unit = {
    describeCalls(op, op.evalType, node, plan)
    node.set[ObjectNode]("keys", written(op.groupingExpressions, plan))
    val columns = op.groupingExpressions.map(_.toAttribute) ++ op.aggExpressions.map(_.resultAttribute)
    node.set[ObjectNode]("columns", arr(columns.map(a => attribute(a): JsonNode)))
    node.set[ObjectNode]("results", written(op.resultExpressions, plan))
  }
}

/** `pandas_udf` and `arrow_udf` over windows: a function from columns of a frame's rows to one value. */
object ArrowWindowPythonRule extends GroupedPythonRule[ArrowWindowPythonExec] {
  import Json._

  private def windows(op: ArrowWindowPythonExec): Seq[WindowExpression] =
    op.windowExpression.flatMap(_.collect { case w: WindowExpression => w })

  override protected def calls(op: ArrowWindowPythonExec): Seq[PythonFuncExpression] =
    windows(op).map(_.windowFunction).collect { case AggregateExpression(f: PythonUDAF, _, _, _, _) => f }

  override def limitation(op: ArrowWindowPythonExec): Option[String] = {
    val isCallEach = op.windowExpression.forall { case Alias(_: WindowExpression, _) => true; case _ => false }
    if (!isCallEach || calls(op).length < op.windowExpression.length)
      PythonFunctions.other(calls(op), "within expressions of windows are not supported")
    else windows(op).flatMap(WindowExpressions.frameReason(_)).headOption
      .orElse(super.limitation(op))
      .orElse(PythonFunctions.resultLimitation(calls(op), calls(op).map(_.dataType)))
  }

  override def expressions(op: ArrowWindowPythonExec): Seq[Expression] =
    op.partitionSpec ++ op.orderSpec ++ Support.withoutCarried(PythonFunctions.arguments(calls(op)))

  override def describe(op: ArrowWindowPythonExec, node: ObjectNode, plan: PlanJson): Unit = {
    val frames = windows(op).map(WindowExpressions.writeFrame(_, obj()))
    val kinds = frames.map(frame => if (frame.path("frame").asText == WindowExpressions.Whole) "unbounded" else "bounded")
    describeCalls(op, op.evalType, node, plan, Map("window_bound_types" -> kinds.mkString(",")))
    node.set[ObjectNode]("keys", written(op.partitionSpec, plan))
    node.set[ObjectNode]("frames", arr(frames))
    node.set[ObjectNode]("order", written(op.orderSpec, plan))
  }
}
