package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.expressions.{Expression, ScalarSubquery}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.{ExecSubqueryExpression, SparkPlan}
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec

/**
 * Marks the plans of scalar subqueries, which return at most one row. Spark plans them like queries, so the rules on
 * physical plans cannot see the difference otherwise.
 */
object ScalarSubqueries extends Rule[LogicalPlan] {

  private val OneRow: TreeNodeTag[Boolean] = TreeNodeTag[Boolean]("pysparkpipeline.oneRow")

  override def apply(plan: LogicalPlan): LogicalPlan = {
    plan.foreach(_.expressions.foreach(_.foreach {
      case s: ScalarSubquery => s.plan.setTagValue(OneRow, true)
      case _ =>
    }))
    plan
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
