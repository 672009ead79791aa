package org.apache.spark.sql.pysparkpipeline

import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.api.python.{PythonEvalType, PythonFunction}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.python.ArrowEvalPythonExec

/** Evaluates Python functions over Arrow batches: `pandas_udf`, `arrow_udf` and `udf(useArrow=True)`. */
object ArrowEvalPythonRule extends OperatorRule[ArrowEvalPythonExec] {

  private val EvalTypes = Set(
    PythonEvalType.SQL_ARROW_BATCHED_UDF, PythonEvalType.SQL_SCALAR_PANDAS_UDF, PythonEvalType.SQL_SCALAR_ARROW_UDF)

  override def limitation(op: ArrowEvalPythonExec): Option[String] =
    if (EvalTypes.contains(op.evalType)) PythonFunctions.limitation(op, op.udfs)
    else Some(s"Python functions (${op.udfs.map(_.name).mkString(", ")}) over iterators are not supported")

  override def expressions(op: ArrowEvalPythonExec): Seq[Expression] = PythonFunctions.arguments(op.udfs)

  /** Spark too would send the rows to Python. */
  override def isHeavy(op: ArrowEvalPythonExec): Boolean = true

  override def pythonFunctions(op: ArrowEvalPythonExec): Seq[PythonFunction] = PythonFunctions.of(op.udfs)

  override def describe(op: ArrowEvalPythonExec, node: ObjectNode, plan: PlanJson): Unit =
    PythonFunctions.describe(op.udfs, op.evalType, node, plan)

  override def label(op: ArrowEvalPythonExec): String = op.udfs.map(_.name).mkString("[", ", ", "]")
}
