package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.expressions.{Expression, Literal}
import org.apache.spark.sql.execution.{CollectLimitExec, CollectMetricsExec, FileSourceScanExec, InSubqueryExec, LocalLimitExec}
import org.apache.spark.sql.execution.{ProjectExec, ScalarSubquery, SparkPlan}

/** Combines connected converted operators into fragments, which end at their inputs. */
object Fusion {

  /** Replace every connected tree of [[PipelineOperatorExec]] by a fragment. */
  def apply(plan: SparkPlan): SparkPlan = plan match {
    case e: PipelineShuffleExchangeExec =>
      val fused = fragment(e.child)
      if (fused eq e.child) e else e.withNewChildren(Seq(fused))
    case e: PipelineBroadcastExchangeExec => e.mapChildren(apply)
    case op: PipelineOperatorExec => fragment(op)
    case write: PipelineWriteFilesExec => write.withNewChildren(Seq(Pipelines.markWriting(fragment(write.child))))
    case f: PipelineFragmentExec => f
    case c: CollectLimitExec if c.limit >= 0 => c.withNewChildren(Seq(limited(c.child, c.limit)))
    case other => other.mapChildren(apply)
  }

  /** Limit each instance to the rows that the driver takes, so that it ends early. */
  private def limited(plan: SparkPlan, rows: Int): SparkPlan = plan match {
    case op: PipelineOperatorExec if op.original.outputOrdering.isEmpty =>
      val first = PipelineOperatorExec(LocalLimitExec(rows, op))
      first.copyTagsFrom(op)
      Decisions.clear(first)
      fragment(first)
    case p: ProjectExec => p.withNewChildren(Seq(limited(p.child, rows)))
    case other => apply(other)
  }

  /** Return the fragment that runs `plan`; a fragment over an input alone passes its chunks on. */
  def fragment(plan: SparkPlan): PipelineFragmentExec = plan match {
    case f: PipelineFragmentExec => f
    case wait: PipelineWaitExec => fragment(wait.child)
    case root =>
      val whole = withInputs(root, inputs(root).map(apply))
      val subqueries = operators(whole).flatMap(_.original.expressions.flatMap(ExpressionJson.subqueries))
      val observations = operators(whole).map(_.original).collect { case c: CollectMetricsExec => MetricBuffers.operator(c) }
      val fragment = PipelineFragmentExec(whole, subqueries, observations)
      fragment.copyTagsFrom(root)
      FragmentNumbers.set(fragment)
      fragment
  }

  /**
   * Return `root` with subqueries replaced by their results. Reuse rules replace the fragment's subqueries, not those
   * inside `root`; and Catalyst ignores a replacement by an equal subquery, so the replacement is a literal.
   */
  def withSubqueryResults(root: SparkPlan, finished: Seq[Expression]): SparkPlan = withSubqueries(root) {
    case s: ScalarSubquery =>
      finished.collectFirst { case f: ScalarSubquery if f.exprId == s.exprId => f.toLiteral }.getOrElse(s)
    case s: InSubqueryExec =>
      finished.collectFirst { case f: InSubqueryExec if f.exprId == s.exprId => f: Expression }.getOrElse(s)
  }

  /** Return `root` with NULL instead of subqueries, to describe a plan that has not run. */
  def withNullSubqueries(root: SparkPlan): SparkPlan = withSubqueries(root) {
    case s @ (_: ScalarSubquery | _: InSubqueryExec) => Literal(null, s.dataType)
  }

  private def withSubqueries(root: SparkPlan)(replace: PartialFunction[Expression, Expression]): SparkPlan = root match {
    case op: PipelineOperatorExec =>
      val over = op.original.withNewChildren(op.children.map(withSubqueries(_)(replace)))
      val hasSubqueries = over.expressions.exists(ExpressionJson.subqueries(_).nonEmpty)
      PipelineOperatorExec(if (hasSubqueries) over.transformExpressions(replace) else over)
    case input => input
  }

  /** Return the fragment's operators, top first. */
  def operators(root: SparkPlan): Seq[PipelineOperatorExec] = root match {
    case op: PipelineOperatorExec => op +: op.children.flatMap(operators)
    case _ => Nil
  }

  def scans(root: SparkPlan): Seq[FileSourceScanExec] =
    operators(root).map(_.original).collect { case s: FileSourceScanExec => s }

  /** Return the fragment's inputs, left to right: the topmost nodes that are not converted operators. */
  def inputs(root: SparkPlan): Seq[SparkPlan] = root match {
    case op: PipelineOperatorExec => op.children.flatMap(inputs)
    case other => Seq(other)
  }

  /** Return `root` with its inputs replaced, left to right. */
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
