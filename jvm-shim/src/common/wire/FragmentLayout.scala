package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.api.python.PythonFunction
import org.apache.spark.sql.catalyst.optimizer.BuildRight
import org.apache.spark.sql.execution.SparkPlan

/** The kind of a fragment's node; the nodes of a kind with a `key` have numbers, which the JSON has under that key. */
sealed abstract class NodeKind(val key: Option[String])

object NodeKind {
  /** A converted operator without a number. */
  case object Operator extends NodeKind(None)
  /** A converted operator that reads data by itself: a scan or a range. */
  case object Scan extends NodeKind(Some("scan"))
  case object Union extends NodeKind(Some("union"))
  /** A converted operator whose rows depend on the index of its partition. */
  case object PartitionDependent extends NodeKind(Some("partitionDependent"))
  /** An input whose chunks are streamed to the instance. */
  case object Input extends NodeKind(Some("input"))
  /** An input that each worker process reads once. */
  case object Broadcast extends NodeKind(Some("broadcast"))

  val all: Seq[NodeKind] = Seq(Operator, Scan, Union, PartitionDependent, Input, Broadcast)
}

/** A node of a fragment: Spark's operator, or an input. `number` is its number among the nodes of its kind. */
case class FragmentNode(plan: SparkPlan, kind: NodeKind, number: Int, children: Seq[FragmentNode]) {

  /** Return the nodes of this subtree in preorder. */
  def subtree: Seq[FragmentNode] = this +: children.flatMap(_.subtree)
}

/**
 * The nodes of a fragment with their numbers: the nodes of each kind are numbered from 0 in preorder, children left to
 * right. The numbers are assigned here alone. The JSON of the plan has them, and the control message, the task
 * assignments, the inputs' stream and the list of broadcasts refer to them.
 */
class FragmentLayout(fragment: SparkPlan) {
  private val counts = scala.collection.mutable.Map.empty[NodeKind, Int].withDefaultValue(0)

  val root: FragmentNode = number(fragment)

  lazy val nodes: Seq[FragmentNode] = root.subtree

  /** Return the nodes of a kind in the order of their numbers. */
  def ofKind(kind: NodeKind): Seq[FragmentNode] = nodes.filter(_.kind == kind)

  /** Return the number of nodes of each kind by its key in the JSON; the worker compares them with the plan. */
  def countByKey: Map[String, Int] = NodeKind.all.flatMap(kind => kind.key.map(_ -> ofKind(kind).length)).toMap

  /** Return the number of operators and inputs on the longest path from the root. */
  def depth: Int = {
    def below(node: FragmentNode): Int = 1 + node.children.map(below).maxOption.getOrElse(0)
    below(root)
  }

  /** Return the numbers of the streamed inputs in the order in which the worker reads them: a join's build side first. */
  def readOrder: Seq[Int] = {
    def visit(node: FragmentNode): Seq[Int] = {
      val below = node.children.map(visit)
      if (node.kind == NodeKind.Input) Seq(node.number)
      else if (isOperator(node) && OperatorRules.of(node.plan).buildSide(node.plan).contains(BuildRight)) {
        below.reverse.flatten
      } else below.flatten
    }
    visit(root)
  }

  /** Return the user's Python functions that the operators call. */
  def pythonFunctions: Seq[PythonFunction] =
    nodes.filter(isOperator).flatMap(node => OperatorRules.of(node.plan).pythonFunctions(node.plan))

  private def isOperator(node: FragmentNode): Boolean =
    node.kind != NodeKind.Input && node.kind != NodeKind.Broadcast

  private def number(plan: SparkPlan): FragmentNode = plan match {
    case PipelineOperatorExec(op) =>
      val kind = OperatorRules.of(op).kind(op)
      val number = next(kind)
      FragmentNode(op, kind, number, op.children.map(this.number))
    case input =>
      val kind = if (BroadcastChunks.isBroadcast(input)) NodeKind.Broadcast else NodeKind.Input
      FragmentNode(input, kind, next(kind), Nil)
  }

  private def next(kind: NodeKind): Int = {
    counts(kind) += 1
    counts(kind) - 1
  }
}
