package org.apache.spark.sql.pysparkpipeline

import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.api.python.{PythonEvalType, PythonFunction}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.python.{ArrowEvalPythonExec, BatchEvalPythonExec, EvalPythonExec}

/** Evaluates Python functions over Arrow batches: `pandas_udf`, `arrow_udf`, `udf(useArrow=True)`. */
object ArrowEvalPythonRule extends EvalPythonRule[ArrowEvalPythonExec] {

  private val OverIterators = Set(PythonEvalType.SQL_SCALAR_PANDAS_ITER_UDF, PythonEvalType.SQL_SCALAR_ARROW_ITER_UDF)

  private val EvalTypes = OverIterators ++ Set(
    PythonEvalType.SQL_ARROW_BATCHED_UDF, PythonEvalType.SQL_SCALAR_PANDAS_UDF, PythonEvalType.SQL_SCALAR_ARROW_UDF)

  override def limitation(op: ArrowEvalPythonExec): Option[String] =
    if (EvalTypes.contains(op.evalType))
      PythonFunctions.arrowLimitation(op, op.udfs).orElse(PythonFunctions.resultLimitation(op.udfs, op.udfs.map(_.dataType)))
    else PythonFunctions.other(op.udfs, "of this form are not supported")

  /** One driver runs a function over an iterator, once a partition. */
  override def kind(op: ArrowEvalPythonExec): NodeKind =
    if (OverIterators.contains(op.evalType)) NodeKind.PartitionDependent else NodeKind.Operator

  override def stages(op: ArrowEvalPythonExec, declared: Seq[String]): Seq[String] =
    if (OverIterators.contains(op.evalType)) Seq("EvalIterator") else declared

  override protected def evalType(op: ArrowEvalPythonExec): Int = op.evalType

  override protected def maxRows(op: ArrowEvalPythonExec): Int = op.conf.arrowMaxRecordsPerBatch
}

/** Evaluates Python functions of rows: `udf`. The size of a batch does not reach them. */
object BatchEvalPythonRule extends EvalPythonRule[BatchEvalPythonExec] {

  private val MaxRows = 10000

  override def limitation(op: BatchEvalPythonExec): Option[String] =
    PythonFunctions.limitation(op, op.udfs)
      .orElse(PythonFunctions.pickleLimitation(op, op.udfs))
      .orElse(PythonFunctions.resultLimitation(op.udfs, op.udfs.map(_.dataType)))

  override protected def evalType(op: BatchEvalPythonExec): Int = PythonEvalType.SQL_BATCHED_UDF

  override protected def maxRows(op: BatchEvalPythonExec): Int = MaxRows
}

/** Appends the results of Python functions to the rows. */
abstract class EvalPythonRule[T <: EvalPythonExec] extends OperatorRule[T] {

  protected def evalType(op: T): Int

  protected def maxRows(op: T): Int

  override def expressions(op: T): Seq[Expression] = Support.withoutCarried(PythonFunctions.arguments(op.udfs))

  /** Spark too would send the rows to Python. */
  override def isHeavy(op: T): Boolean = true

  override def pythonFunctions(op: T): Seq[PythonFunction] = PythonFunctions.of(op.udfs)

  override def describe(op: T, node: ObjectNode, plan: PlanJson): Unit =
    PythonFunctions.describe(op.udfs, evalType(op), maxRows(op), node, plan)

  override def label(op: T): String = op.udfs.map(_.name).mkString("[", ", ", "]")
}
