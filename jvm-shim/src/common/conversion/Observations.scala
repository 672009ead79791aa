package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.{CollectMetricsExec, LimitExec, SortExec, SparkPlan}
import org.apache.spark.sql.execution.exchange.Exchange

/**
 * Finds limits above `Dataset.observe` in one stage. Spark passes rows on one by one, so the metrics count those that the
 * limit requested. An operator of the engine between the two would read rows ahead, so all of them stay in Spark.
 */
object Observations {
  private val Reason = "a limit requests the rows that are observed below one by one"

  private val Between: TreeNodeTag[Boolean] = TreeNodeTag[Boolean]("pysparkpipeline.limitsObserved")

  /** Mark the operators of `plan` from a limit down to an observation. */
  def mark(plan: SparkPlan): Unit = visit(plan, isLimited = false)

  /** Return the reason why `plan` must stay in Spark; None if no limit and observation are around it. */
  def reason(plan: SparkPlan): Option[String] = plan.getTagValue(Between).map(_ => Reason)

  private def visit(plan: SparkPlan, isLimited: Boolean): Unit = {
    val limited = !readsAll(plan) && (isLimited || plan.isInstanceOf[LimitExec])
    if (limited && observes(plan)) plan.setTagValue(Between, true) else plan.unsetTagValue(Between)
    plan.children.foreach(visit(_, limited))
  }

  private def observes(plan: SparkPlan): Boolean =
    plan.children.exists(child => child.isInstanceOf[CollectMetricsExec] || !readsAll(child) && observes(child))

  /** Return whether Spark reads all input of `plan` before its first row. */
  private def readsAll(plan: SparkPlan): Boolean = plan match {
    case _: Exchange | _: SortExec => true
    case _ => false
  }
}
