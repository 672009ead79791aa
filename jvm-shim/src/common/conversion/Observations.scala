package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.plans.physical.RangePartitioning
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.{CollectMetricsExec, LimitExec, SortExec, SparkPlan}
import org.apache.spark.sql.execution.exchange.Exchange

/**
 * Finds `Dataset.observe` below an operator of its stage on which its metrics depend; the two and all operators between them
 * stay in Spark. Spark passes rows on one by one, so the metrics count those that a limit requested; the engine would read
 * ahead. Where Spark counts the rows of all attempts, they count each time that an exchange by ranges samples its rows.
 */
object Observations {
  private val Limited = "a limit requests the rows that are observed one by one"

  private val Sampled = "an exchange by ranges reads the rows that are observed more than once"

  private val Between: TreeNodeTag[String] = TreeNodeTag[String]("pysparkpipeline.observed")

  /** Mark the operators of `plan` from such an operator down to an observation, inclusive. */
  def mark(plan: SparkPlan): Unit = visit(plan, isLimited = false, isSampled = false)

  /** Return the reason why `plan` must stay in Spark; None if no such operator and observation are around it. */
  def reason(plan: SparkPlan): Option[String] = plan.getTagValue(Between)

  private def visit(plan: SparkPlan, isLimited: Boolean, isSampled: Boolean): Unit = {
    val limited = !readsAll(plan) && (isLimited || plan.isInstanceOf[LimitExec])
    val sampled = if (plan.isInstanceOf[Exchange]) samples(plan) else isSampled
    if (sampled && observes(plan, _.isInstanceOf[Exchange])) plan.setTagValue(Between, Sampled)
    else if (limited && observes(plan, readsAll)) plan.setTagValue(Between, Limited)
    else plan.unsetTagValue(Between)
    plan.children.foreach(visit(_, limited, sampled))
  }

  /** Return whether `plan` observes rows, or an operator below it down to the first that `ends` the search. */
  private def observes(plan: SparkPlan, ends: SparkPlan => Boolean): Boolean =
    plan.isInstanceOf[CollectMetricsExec] || plan.children.exists(child => !ends(child) && observes(child, ends))

  /** Return whether Spark reads all input of `plan` before its first row. */
  private def readsAll(plan: SparkPlan): Boolean = plan match {
    case _: Exchange | _: SortExec => true
    case _ => false
  }

  /** Return whether an exchange runs its input for samples before it sends the rows, and metrics count both. */
  private def samples(exchange: SparkPlan): Boolean = exchange.outputPartitioning match {
    case range: RangePartitioning => range.numPartitions > 1 && ObservedAttempts.areAllCounted(exchange.conf)
    case _ => false
  }
}
