package org.apache.spark.sql.pysparkpipeline

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.{Alias, Expression, NamedExpression, ScalarSubquery}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan, Project}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.{ExecSubqueryExpression, SparkPlan}
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec

/**
 * Marks the plans of scalar subqueries, which return at most one row. Spark plans them like queries, so the rules on
 * physical plans cannot see the difference otherwise. Columns of equal names get different ones, since Spark makes a struct
 * of the columns of subqueries that it runs as one, and the engine's structs have no two fields of a name.
 */
object ScalarSubqueries extends Rule[LogicalPlan] {

  private val OneRow: TreeNodeTag[Boolean] = TreeNodeTag[Boolean]("pysparkpipeline.oneRow")

  override def apply(plan: LogicalPlan): LogicalPlan = {
    val names = subqueries(plan).flatMap(nameOf).groupBy(identity).filter(_._2.length > 1).keySet
    // Options are read only where they matter: a command with an invalid option must run.
    val named = if (names.isEmpty || !Settings.flag(conf, "enabled")) plan else withOtherNames(plan, names)
    subqueries(named).foreach(_.plan.setTagValue(OneRow, true))
    named
  }

  private def subqueries(plan: LogicalPlan): Seq[ScalarSubquery] =
    plan.collect { case p => p.expressions.flatMap(_.collect { case s: ScalarSubquery => s }) }.flatten

  private def nameOf(subquery: ScalarSubquery): Option[String] = subquery.plan match {
    case Project(Seq(Alias(_, name)), _) if !subquery.isCorrelated => Some(name)
    case Aggregate(_, Seq(Alias(_, name)), _, _) if !subquery.isCorrelated => Some(name)
    case _ => None
  }

  private def withOtherNames(plan: LogicalPlan, names: Set[String]): LogicalPlan = {
    val numbers = mutable.Map.empty[LogicalPlan, Int]
    plan.transformUp { case p => p.transformExpressions {
      case s: ScalarSubquery if nameOf(s).exists(names) =>
        val number = numbers.getOrElseUpdate(s.plan.canonicalized, numbers.size + 1)
        s.withNewPlan(s.plan match {
          case p: Project => p.copy(projectList = p.projectList.map(numbered(_, number)))
          case a: Aggregate => a.copy(aggregateExpressions = a.aggregateExpressions.map(numbered(_, number)))
          case other => other
        })
    } }
  }

  private def numbered(column: NamedExpression, number: Int): NamedExpression = column match {
    case a @ Alias(value, name) => Alias(value, s"$name ($number)")(a.exprId, a.qualifier, a.explicitMetadata)
    case other => other
  }

  /** Return whether `plan` is the top of a scalar subquery. */
  def isTop(plan: SparkPlan): Boolean = plan.logicalLink.exists(_.getTagValue(OneRow).isDefined)

  /** Return whether the engine runs a subquery that one of `expressions` reads. */
  def runInEngine(expressions: Seq[Expression]): Boolean =
    expressions.exists(_.exists {
      case s: ExecSubqueryExpression => s.plan.exists(isConverted)
      case _ => false
    })

  private def isConverted(plan: SparkPlan): Boolean = plan match {
    case adaptive: AdaptiveSparkPlanExec => adaptive.executedPlan.exists(isConverted)
    case other => Convert.isInEngine(other)
  }
}
