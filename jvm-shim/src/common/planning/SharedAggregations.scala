package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.plans.Inner
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{FilterExec, SparkPlan, SparkStrategy}
import org.apache.spark.sql.internal.SQLConf

/**
 * Lets two uses of one aggregation share its shuffle (optimizer). A view that a query reads twice, once in a join and once
 * in a scalar subquery, is computed twice, because Spark infers from the join that a grouping key is not NULL and filters
 * its NULLs below the aggregation. If the query has the same aggregation without that filter, this rule filters the
 * groups instead of the rows, and Spark reuses the exchange.
 *
 * The aggregation without the filter runs in any case, so no function sees a row that it would not see otherwise.
 */
object SharedAggregations extends Rule[LogicalPlan] with PredicateHelper {

  override def apply(plan: LogicalPlan): LogicalPlan = {
    val (filtered, whole) = plan.collectWithSubqueries { case a: Aggregate if isCandidate(a) => new Use(a) }
      .partition(_.filteredKeys.nonEmpty)
    // Options are read only where they matter: a command with an invalid option must run.
    if (filtered.isEmpty || whole.isEmpty || !canReuse(conf)) plan
    else {
      val known = whole.map(_.unfiltered).toSet
      val shared = filtered.filter(use => use.hasKeys && known(use.unfiltered))
      if (shared.isEmpty) plan
      else plan.transformWithSubqueries { case a: Aggregate => shared.find(_.of eq a).map(_.filteredAbove).getOrElse(a) }
    }
  }

  /** Return whether fragments that read the same rows can share an exchange. */
  def canReuse(conf: SQLConf): Boolean =
    Settings.flag(conf, "enabled") && conf.exchangeReuseEnabled && Readiness.obstacle.isEmpty

  private def isCandidate(a: Aggregate): Boolean =
    a.groupingExpressions.nonEmpty && a.groupingExpressions.forall(_.isInstanceOf[Attribute]) && a.deterministic &&
      !a.isStreaming && BroadcastStrategy.isForEngine(a)

  /** An aggregation, the grouping keys whose NULLs filters below it drop, and its form without these filters. */
  private class Use(val of: Aggregate) {
    private val (child, keys) =
      withoutNullFilters(of.child, of.groupingExpressions.collect { case key: Attribute => key -> key })

    val filteredKeys: Seq[Attribute] = keys.distinctBy(_.exprId)

    /** The part below the exchange, which determines it. */
    lazy val unfiltered: LogicalPlan = {
      val functions = of.aggregateExpressions.flatMap(_.collect { case e: AggregateExpression => e })
      Aggregate(of.groupingExpressions, functions.map(Alias(_, "function")()), child).canonicalized
    }

    private def outputs: Seq[Option[Attribute]] = filteredKeys.map { key =>
      of.aggregateExpressions.collectFirst {
        case a: Attribute if a.exprId == key.exprId => a
        case alias @ Alias(a: Attribute, _) if a.exprId == key.exprId => alias.toAttribute
      }
    }

    /** Whether the filtered keys are in the result. */
    def hasKeys: Boolean = outputs.forall(_.isDefined)

    /** Return the aggregation with the filters above it. */
    def filteredAbove: LogicalPlan =
      Filter(AboveAggregation(outputs.flatten.map(IsNotNull(_): Expression).reduceLeft(And)), of.copy(child = child))
  }

  /**
   * Return `plan` without filters of NULLs in `keys`, columns of it, each with a grouping key; and the grouping keys whose
   * NULLs they drop.
   */
  private def withoutNullFilters(
      plan: LogicalPlan, keys: Seq[(Attribute, Attribute)]): (LogicalPlan, Seq[Attribute]) = plan match {
    case f: Filter if f.deterministic =>
      val (ofKeys, others) = splitConjunctivePredicates(f.condition).partition(keyOf(_, keys).isDefined)
      val (below, found) = withoutNullFilters(f.child, keys)
      (others.reduceLeftOption(And).map(Filter(_, below)).getOrElse(below), found ++ ofKeys.flatMap(keyOf(_, keys)))
    case p: Project if p.deterministic =>
      val under = keys.flatMap { case (column, key) => SemiJoins.attributeBelow(p.projectList, column).map(_ -> key) }
      val (below, found) = withoutNullFilters(p.child, under)
      (p.copy(child = below), found)
    case j @ Join(left, right, Inner, _, _) =>
      val (onLeft, onRight) = keys.partition { case (column, _) => left.outputSet.contains(column) }
      val (newLeft, ofLeft) = withoutNullFilters(left, onLeft)
      val (newRight, ofRight) = withoutNullFilters(right, onRight)
      (j.copy(left = newLeft, right = newRight), ofLeft ++ ofRight)
    case other => (other, Nil)
  }

  /** Return the grouping key whose NULLs a condition drops, if it does nothing else. */
  private def keyOf(condition: Expression, keys: Seq[(Attribute, Attribute)]): Option[Attribute] = condition match {
    case IsNotNull(a: Attribute) => keys.collectFirst { case (column, key) if column.exprId == a.exprId => key }
    case _ => None
  }
}

/**
 * The condition of a filter that the optimizer must leave above an aggregation: it pushes no condition down that is not
 * deterministic. [[SharedAggregationStrategy]] plans the condition itself.
 */
case class AboveAggregation(child: Expression) extends UnaryExpression with Predicate {
  override lazy val deterministic: Boolean = false
  override def nullable: Boolean = child.nullable
  override def eval(input: InternalRow): Any = child.eval(input)
  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = child.genCode(ctx)
  override def sql: String = child.sql
  override def toString: String = child.toString
  override protected def withNewChildInternal(newChild: Expression): AboveAggregation = copy(child = newChild)
}

object SharedAggregationStrategy extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case Filter(AboveAggregation(condition), child) => Seq(FilterExec(condition, planLater(child)))
    case _ => Nil
  }
}
