package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildSide}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.adaptive.LogicalQueryStage

/**
 * Finds the scan that produces the key columns and replaces it by the result of `insert`. The third argument of `insert`
 * is true if the rows of the scan are shuffled above it: by an aggregation, or by a join for which `shuffles` is true.
 */
class SemiJoinPushdown(
    shuffles: Join => Boolean, insert: (LogicalPlan, SemiJoins.Keys, Boolean) => Option[LogicalPlan])
  extends PredicateHelper {
  import SemiJoins._

  def apply(plan: LogicalPlan, keys: Keys, isShuffled: Boolean): Option[LogicalPlan] = plan match {
    case _ if keys.isEmpty => None
    // A delayed plan is linked to the stage that it waits for.
    case waiting: LogicalQueryStage if SemiJoinReduction.isWaiting(waiting) =>
      apply(waiting.logicalPlan, keys, isShuffled)
    case _ if isScan(plan) => insert(plan, keys, isShuffled)
    case p: Project if p.deterministic =>
      val under = keys.flatMap { case (l, r) => attributeBelow(p.projectList, l).map(_ -> r) }
      apply(p.child, under, isShuffled).map(c => p.withNewChildren(Seq(c)))
    case f: Filter if SubqueryExpression.hasSubquery(f.condition) && f.deterministic => filtered(f, keys)
    case f: Filter if f.deterministic => apply(f.child, keys, isShuffled).map(c => f.withNewChildren(Seq(c)))
    case a: Aggregate if a.deterministic =>
      val groups = AttributeSet(a.groupingExpressions.collect { case k: Attribute => k })
      val under = keys.flatMap { case (l, r) => attributeBelow(a.aggregateExpressions, l).filter(groups.contains).map(_ -> r) }
      apply(a.child, under, isShuffled = true).map(c => a.withNewChildren(Seq(c)))
    case j: Join if !isReduction(j, keys) => preservedSides(j.joinType).flatMap(joined(j, _, keys, isShuffled)).headOption
    case _ => None
  }

  private def joined(join: Join, side: BuildSide, keys: Keys, isShuffled: Boolean): Option[LogicalPlan] = {
    val child = sideOf(join, side)
    val under = keys.filter { case (l, _) => child.outputSet.contains(l) }
    apply(child, under, isShuffled || (!isReduction(join) && shuffles(join))).map { c =>
      join.withNewChildren(if (side == BuildLeft) Seq(c, join.right) else Seq(join.left, c))
    }
  }

  /** Push below the conjuncts that have subqueries, which become joins later. */
  private def filtered(filter: Filter, keys: Keys): Option[LogicalPlan] = {
    val (subqueries, others) =
      splitConjunctivePredicates(filter.condition).partition(SubqueryExpression.hasSubquery)
    val rest = others.reduceOption(And).map(Filter(_, filter.child)).getOrElse(filter.child)
    apply(rest, keys, isShuffled = true).map(Filter(subqueries.reduce(And), _))
  }
}
