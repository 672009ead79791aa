package org.apache.spark.sql.pysparkpipeline

import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.api.python.PythonFunction
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.optimizer.BuildSide
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.internal.SQLConf

/**
 * The knowledge of the shim about one Catalyst operator; [[OperatorRules]] finds the rule of an operator by its class.
 * Conversion, cost rule, wire format, task assignment and reports know no operator; they ask its rule.
 *
 * The defaults describe a linear operator: it has one input, streams it, keeps the order and the partitions of its rows,
 * and is supported if its expressions and types are. So the rule of a linear operator is empty, or has a `limitation`.
 *
 * [[Conversion]] calls, for an operator that Spark planned: `prepare`; after the conversion of the inputs `reason`; then
 * `finish` if the reason is None, else `split` and `revert`. [[Revert]] calls `revert` when AQE plans again or the cost rule objects.
 */
trait OperatorRule[T <: SparkPlan] {

  // Conversion

  /** Return the operator to offer to the engine instead of `op`, for example without a sort that Spark needs below. */
  def prepare(op: T): SparkPlan = op

  /** Return the reason why the engine cannot run `op`; None if it can. */
  def reason(op: T, support: Support): Option[String] =
    limitation(op)
      .orElse(support.every(expressions(op).filterNot(e => Support.isCarried(e) && keys(op).contains(e))))
      .orElse(support.firstKeyReason(keys(op)))
      .orElse(support.firstHeldReason(op.output, "column"))
      .orElse(support.firstHeldReason(op.children.flatMap(_.output), "input column"))

  /** Return the reason against `op` that lies in the operator itself, not in an expression or type. */
  def limitation(op: T): Option[String] = None

  /**
   * Return `op`, which has unsupported expressions, as two operators of which the engine may run the lower one; None if
   * that saves nothing.
   */
  def split(op: T, support: Support): Option[SparkPlan] = None

  /** Return those expressions by whose values rows are compared or hashed. */
  def keys(op: T): Seq[Expression] = Nil

  /** Return the expressions that the engine evaluates, without columns that it only carries. */
  def expressions(op: T): Seq[Expression] = op.expressions

  /**
   * Return the plan for `planned`, which became `converted`. `isOrderRead` is true if an operator above may rely on the
   * order of the rows of `planned`.
   */
  def finish(converted: PipelineOperatorExec, planned: T, isOrderRead: Boolean, conf: SQLConf): SparkPlan = converted

  /** Return `op`, which `prepare` may have built, as Spark can run it. */
  def revert(op: T): SparkPlan = op

  /** Return whether the order of the input's rows may reach the output. */
  def keepsInputOrder(op: T): Boolean = true

  /** Return whether the engine may place the rows of `op` differently from Spark: in another partition or order. */
  def movesRows(op: T): Boolean = false

  /** Return whether the output of each row depends on no other row; then partitions of the input can be read as one. */
  def isRowwise(op: T): Boolean = false

  /** Return the number of partitions to which `op` reduces those of its input, as `RDD.coalesce` does; None if it does not. */
  def coalescesTo(op: T): Option[Int] = None

  // Cost

  /** Return whether the work of `op` alone may pay for the transition of a region's rows back to Spark. */
  def isHeavy(op: T): Boolean = false

  /** Return the bytes that `op` reads from a source, or that Spark would convert to Arrow if its rows go `toPython`. */
  def readBytes(op: T, toPython: Boolean): BigInt = 0

  // Execution

  /** The kind of the node of `op` in a fragment; nodes of most kinds have numbers ([[FragmentLayout]]). */
  def kind(op: T): NodeKind = NodeKind.Operator

  /** Return the side of a join that is read before the other one; None if `op` is no join. */
  def buildSide(op: T): Option[BuildSide] = None

  /**
   * Return the assignments of all instances that run `op`, from those of its inputs (None: an input has no partitions of
   * its own). By default an instance reads one partition of each input. `number` is that of the node in its fragment.
   */
  def assignments(op: T, number: Int, inputs: Seq[Option[Seq[TaskAssignment]]]): Option[Seq[TaskAssignment]] =
    inputs.flatten.reduceOption(TaskAssignments.zip)

  /** Return the user's Python functions that the instances call. */
  def pythonFunctions(op: T): Seq[PythonFunction] = Nil

  // Wire

  /** Add the operator's properties to its JSON `node`, which has its class and its output; by default all its fields. */
  def describe(op: T, node: ObjectNode, plan: PlanJson): Unit = node.set[ObjectNode]("fields", plan.fields(op))

  // Report

  /** Return the names of the operators that run `op` in pipelines, by default those that the manifest `declared`. */
  def stages(op: T, declared: Seq[String]): Seq[String] = declared

  /** Return a pipeline: the operators `below`, and the last one of this operator. */
  def append(below: Seq[String], last: String): Seq[String] = below :+ last

  /** Return the inputs of the operator's pipelines; an operator may run as one with the operator below it. */
  def pipelineInputs(op: PipelineOperatorExec): Seq[SparkPlan] = op.children

  /** Return the operator's details for a line of explain. */
  def label(op: T): String = op.simpleString(8).dropWhile(c => c != '(' && c != '[' && c != ' ').trim
}

/** The rule of an operator that reads data by itself. Each instance reads one part. */
trait SourceRule[T <: SparkPlan] extends OperatorRule[T] {
  override def kind(op: T): NodeKind = NodeKind.Scan

  override def isRowwise(op: T): Boolean = true

  /** Return one part with the data of `parts`, in this order. */
  def joined(parts: Seq[ScanPart]): ScanPart

  /** Return the parts of all instances; add counters to the `metrics` of the same names. */
  def parts(op: T, metrics: Map[String, SQLMetric]): Array[ScanPart]
}
