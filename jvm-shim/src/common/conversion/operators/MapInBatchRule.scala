package org.apache.spark.sql.pysparkpipeline

import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.api.python.{PythonEvalType, PythonFunction}
import org.apache.spark.sql.catalyst.expressions.{Expression, PythonUDF}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.python.{MapInArrowExec, MapInPandasExec}

object MapInArrowRule extends MapInBatchRule[MapInArrowExec](PythonEvalType.SQL_MAP_ARROW_ITER_UDF) {
  override protected def function(op: MapInArrowExec): Expression = op.func

  override protected def needsOwnTasks(op: MapInArrowExec): Boolean = op.isBarrier || op.profile.isDefined
}

object MapInPandasRule extends MapInBatchRule[MapInPandasExec](PythonEvalType.SQL_MAP_PANDAS_ITER_UDF) {
  override protected def function(op: MapInPandasExec): Expression = op.func

  override protected def needsOwnTasks(op: MapInPandasExec): Boolean = op.isBarrier || op.profile.isDefined
}

/** Calls a Python function over an iterator of a partition's batches. */
abstract class MapInBatchRule[T <: SparkPlan](evalType: Int) extends OperatorRule[T] {

  protected def function(op: T): Expression

  /** Return whether the tasks of `op` run in barrier mode or with a resource profile of their own. */
  protected def needsOwnTasks(op: T): Boolean

  private def call(op: T): PythonUDF = function(op).asInstanceOf[PythonUDF]

  override def limitation(op: T): Option[String] = {
    val names = op.children.head.output.map(_.name)
    def other(what: String) = Some(s"a Python function (${call(op).name}) $what is not supported")
    if (needsOwnTasks(op)) other("in barrier mode or with a resource profile")
    else if (op.conf.pysparkArrowValidateSchema) other("whose schema Spark validates")
    else if (names.distinct.length < names.length) other("over columns of one name")
    else PythonFunctions.outputLimitation(op, Seq(call(op))).orElse(PythonFunctions.arrowLimitation(op, Seq(call(op))))
  }

  override def expressions(op: T): Seq[Expression] = Nil

  /** Spark too would send the rows to Python. */
  override def isHeavy(op: T): Boolean = true

  /** One driver runs the function, once a partition. */
  override def kind(op: T): NodeKind = NodeKind.PartitionDependent

  override def pythonFunctions(op: T): Seq[PythonFunction] = PythonFunctions.of(Seq(call(op)))

  override def describe(op: T, node: ObjectNode, plan: PlanJson): Unit =
    PythonFunctions.describe(Seq(call(op)), evalType, op.conf.arrowMaxRecordsPerBatch, node, plan)

  override def label(op: T): String = s"[${call(op).name}]"
}
