package org.apache.spark.sql.pysparkpipeline

import scala.collection.mutable.ArrayBuffer

import com.fasterxml.jackson.databind.JsonNode

import org.apache.commons.lang3.StringUtils

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.optimizer.BuildRight
import org.apache.spark.sql.execution.{CollectLimitExec, FileSourceScanExec, InSubqueryExec, LocalLimitExec, ProjectExec}
import org.apache.spark.sql.execution.{ScalarSubquery, SparkPlan}

/** Puts wrapped operators that stand together into one fragment, and cuts it at its inputs. */
object Fusion {

  /** Replace every connected tree of [[PipelineOperatorExec]] by a fragment. */
  def apply(plan: SparkPlan): SparkPlan = plan match {
    case e: PipelineShuffleExchangeExec =>
      val fused = fragment(e.child)
      if (fused eq e.child) e else e.withNewChildren(Seq(fused))
    case e: PipelineBroadcastExchangeExec => e.mapChildren(apply)
    case op: PipelineOperatorExec => fragment(op)
    case f: PipelineFragmentExec => f
    case c: CollectLimitExec if c.limit >= 0 => c.withNewChildren(Seq(limited(c.child, c.limit)))
    case other => other.mapChildren(apply)
  }

  /** Let no instance give more rows than the driver takes of it, so that it ends by itself. */
  private def limited(plan: SparkPlan, rows: Int): SparkPlan = plan match {
    case op: PipelineOperatorExec if op.original.outputOrdering.isEmpty =>
      val first = PipelineOperatorExec(LocalLimitExec(rows, op))
      first.copyTagsFrom(op)
      fragment(first)
    case p: ProjectExec => p.withNewChildren(Seq(limited(p.child, rows)))
    case other => apply(other)
  }

  /** The fragment that runs `plan`; a plan that is only an input becomes a fragment that passes it on. */
  def fragment(plan: SparkPlan): PipelineFragmentExec = plan match {
    case f: PipelineFragmentExec => f
    case wait: PipelineWaitExec => fragment(wait.child)
    case root =>
      val whole = withInputs(root, inputs(root).map(apply))
      val subqueries = operators(whole).flatMap(_.original.expressions.flatMap(ExpressionJson.subqueries))
      val fragment = PipelineFragmentExec(whole, subqueries)
      fragment.copyTagsFrom(root)
      fragment
  }

  /**
   * `root` with subqueries as the values they gave. Reuse rules replace the fragment's subqueries, not those inside
   * `root`; and an equal subquery would not be taken for a change, so it is a literal that goes in.
   */
  def settled(root: SparkPlan, finished: Seq[Expression]): SparkPlan = root match {
    case op: PipelineOperatorExec =>
      val over = op.original.withNewChildren(op.children.map(settled(_, finished)))
      if (!over.expressions.exists(ExpressionJson.subqueries(_).nonEmpty)) PipelineOperatorExec(over)
      else PipelineOperatorExec(over.transformExpressions {
        case s: ScalarSubquery =>
          finished.collectFirst { case f: ScalarSubquery if f.exprId == s.exprId => f.toLiteral }.getOrElse(s)
        case s: InSubqueryExec =>
          finished.collectFirst { case f: InSubqueryExec if f.exprId == s.exprId => f: Expression }.getOrElse(s)
      })
    case input => input
  }

  /** The fragment's operators, top first. */
  def operators(root: SparkPlan): Seq[PipelineOperatorExec] = root match {
    case op: PipelineOperatorExec => op +: op.children.flatMap(operators)
    case _ => Nil
  }

  def scans(root: SparkPlan): Seq[FileSourceScanExec] =
    operators(root).map(_.original).collect { case s: FileSourceScanExec => s }

  /** Where the fragment ends below: everything that is not a wrapped operator, left to right. */
  def inputs(root: SparkPlan): Seq[SparkPlan] = root match {
    case op: PipelineOperatorExec => op.children.flatMap(inputs)
    case other => Seq(other)
  }

  /**
   * The numbers of the streamed inputs (all but broadcasts, left to right) in the order the worker reads them:
   * what a join builds from comes before what it probes with.
   */
  def streamOrder(root: SparkPlan): Seq[Int] = {
    var streamed = 0
    def go(node: SparkPlan): Seq[Int] = node match {
      case op: PipelineOperatorExec =>
        val children = op.children.map(go)
        (if (Joins.buildSide(op.original).contains(BuildRight)) children.reverse else children).flatten
      case input if BroadcastChunks.isBroadcast(input) => Nil
      case _ =>
        streamed += 1
        Seq(streamed - 1)
    }
    go(root)
  }

  /** `root` with its inputs replaced, left to right. */
  def withInputs(root: SparkPlan, replacements: Seq[SparkPlan]): SparkPlan = {
    val left = replacements.iterator
    def go(node: SparkPlan): SparkPlan = node match {
      case op: PipelineOperatorExec =>
        val children = op.children.map(go)
        if (children.corresponds(op.children)(_ eq _)) op
        else {
          val changed = op.withNewChildren(children)
          changed.copyTagsFrom(op)
          changed
        }
      case _ => left.next()
    }
    go(root)
  }
}

/** Says in text how a fragment is cut into pipelines; the worker cuts by the same rule. */
object Pipelines {

  /** One line a pipeline, sources first. */
  def of(root: SparkPlan): Seq[String] = {
    val done = ArrayBuffer.empty[String]
    val last = open(root, done)
    done += line(last :+ "Sink")
    done.toSeq
  }

  /** The operators of the pipeline still open at `node`; finished pipelines are added to `done`. */
  private def open(node: SparkPlan, done: ArrayBuffer[String]): Seq[String] = node match {
    case op: PipelineOperatorExec =>
      val names = stages(op.original)
      val first = label(op.original, names.head)
      (Joins.buildSide(op.original), Aggregates.inputs(op)) match {
        case (Some(side), Seq(left, right)) =>
          val (build, probe) = if (side == BuildRight) (right, left) else (left, right)
          done += line(open(build, done) :+ first)
          open(probe, done) ++ names.tail
        case (_, branches) if branches.length > 1 =>
          branches.foreach(branch => done += line(open(branch, done) :+ first))
          Seq(first)
        case (_, below) if names.length > 1 =>
          done += line(below.flatMap(open(_, done)) :+ first)
          names.tail
        case (_, below) => below.flatMap(open(_, done)) :+ first
      }
    case input => Seq(s"Input(${input.nodeName})")
  }

  private def line(operators: Seq[String]): String = operators.mkString(" → ")

  private def stages(plan: SparkPlan): Seq[String] = {
    val entry: Option[JsonNode] = Manifest.operators.get(plan.getClass.getSimpleName)
    val names = entry.toSeq.flatMap(e => Manifest.elements(e.path("pipeline")).map(_.asText))
    if (names.isEmpty) Seq(plan.nodeName.trim) else names
  }

  private def label(plan: SparkPlan, name: String): String = {
    val detail = plan match {
      case s: FileSourceScanExec => s.tableIdentifier.map(_.table).getOrElse(s.relation.location.rootPaths
        .headOption.map(_.getName).getOrElse(""))
      case other => other.simpleString(8).dropWhile(c => c != '(' && c != '[' && c != ' ').trim
    }
    val inner = if (detail.startsWith("(") && detail.endsWith(")")) detail.drop(1).dropRight(1) else detail
    if (inner.isEmpty) name else s"$name(${StringUtils.abbreviate(inner, 160)})"
  }
}
