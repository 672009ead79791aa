package org.apache.spark.sql.pysparkpipeline

import scala.collection.mutable.ArrayBuffer

import com.fasterxml.jackson.databind.JsonNode

import org.apache.commons.lang3.StringUtils

import org.apache.spark.sql.catalyst.optimizer.BuildRight
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.SparkPlan

/**
 * Describes the pipelines of a fragment as text. The worker splits fragments by its own rules; `tests/plans` compares
 * the two. The worker may add a runtime filter below a join, leave out the sort of a window whose input is sorted,
 * run an expand and the partial aggregation above it as one operator (`GroupingSets`), and with several drivers add
 * local exchanges.
 */
object Pipelines {

  /** On a fragment that writes files. */
  private val Writes: TreeNodeTag[Boolean] = TreeNodeTag[Boolean]("pysparkpipeline.writes")

  private val Write = "WriteFiles"

  /** Mark and return `fragment`, which writes files. */
  def markWriting(fragment: PipelineFragmentExec): PipelineFragmentExec = {
    fragment.setTagValue(Writes, true)
    fragment
  }

  /** Return one line per pipeline, sources first. */
  def of(fragment: PipelineFragmentExec): Seq[String] = {
    val done = ArrayBuffer.empty[String]
    val last = open(fragment.root, done)
    done += line(last ++ write(fragment) :+ "Sink")
    done.toSeq
  }

  private def write(fragment: PipelineFragmentExec): Option[String] =
    fragment.getTagValue(Writes).map(_ => Write)

  /** Return the names of the operators that the fragment may run, without those of its sink. */
  def names(fragment: PipelineFragmentExec): Set[String] = {
    val root = fragment.root
    val ofPlan = Fusion.operators(root).flatMap(op => declared(op.original) ++ stages(op.original)).toSet ++ write(fragment)
    val ofExpressions = if (Fusion.operators(root).exists(op => JvmExpressions.calls(op.original).nonEmpty)) Set("JvmExpression") else Nil
    val ofInputs = if (Fusion.inputs(root).forall(BroadcastChunks.isBroadcast)) Nil else Set("ExchangeSource")
    ofPlan ++ ofExpressions ++ ofInputs
  }

  /** Return the operators of the unfinished pipeline at `node`; add finished pipelines to `done`. */
  private def open(node: SparkPlan, done: ArrayBuffer[String]): Seq[String] = node match {
    case op: PipelineOperatorExec =>
      val rule = OperatorRules.of(op.original)
      val names = stages(op.original)
      val first = label(op, names.head)
      (rule.buildSide(op.original), rule.pipelineInputs(op)) match {
        case (Some(side), Seq(left, right)) =>
          val (build, probe) = if (side == BuildRight) (right, left) else (left, right)
          if (BroadcastChunks.isBroadcast(build)) open(probe, done) :+ label(op, names.last)
          else {
            done += line(open(build, done) :+ first)
            open(probe, done) ++ names.tail
          }
        case (_, branches) if branches.length > 1 =>
          branches.foreach(branch => done += line(open(branch, done) :+ first))
          Seq(first)
        case (_, below) if names.length > 1 =>
          done += line(below.flatMap(open(_, done)) :+ first)
          names.tail
        case (_, below) => rule.append(below.flatMap(open(_, done)), first)
      }
    case input => Seq(s"Input(${input.nodeName})")
  }

  private def line(operators: Seq[String]): String = operators.mkString(" → ")

  private def stages(plan: SparkPlan): Seq[String] = OperatorRules.of(plan).stages(plan, declared(plan))

  private def declared(plan: SparkPlan): Seq[String] = {
    val entry: Option[JsonNode] = Manifest.operators.get(plan.getClass.getSimpleName)
    val names = entry.toSeq.flatMap(e => Manifest.elements(e.path("pipeline")).map(_.asText))
    if (names.isEmpty) Seq(plan.nodeName.trim) else names
  }

  private def label(op: PipelineOperatorExec, name: String): String = {
    val detail = op.detail
    val inner = if (detail.startsWith("(") && detail.endsWith(")")) detail.drop(1).dropRight(1) else detail
    if (inner.isEmpty) name else s"$name(${StringUtils.abbreviate(Redaction(inner, op.conf), 160)})"
  }
}
