package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.execution.SparkPlan

/**
 * Copies the links of physical operators to logical ones, by which AQE replaces finished stages. These links are tags: the
 * topmost physical operator of a logical one has its own link, the operators below inherit it, and only inherited links
 * follow when the topmost operator gets another link. So this object copies tags and never calls `setLogicalLink`,
 * which would turn an inherited link into an own one.
 */
object LogicalLinks {
  private val Tags = Seq(SparkPlan.LOGICAL_PLAN_TAG, SparkPlan.LOGICAL_PLAN_INHERITED_TAG)

  /** Copy the links of `from` to `to` and return `to`. AQE links the plan's nodes, not the operators inside them. */
  def copy[T <: SparkPlan](from: SparkPlan, to: T): T = {
    Tags.foreach { tag =>
      from.getTagValue(tag) match {
        case Some(link) => to.setTagValue(tag, link)
        case None => to.unsetTagValue(tag)
      }
    }
    to
  }

  /** Make `top` the topmost operator of the logical operator that `below` is linked to. */
  def insertAbove(top: SparkPlan, below: SparkPlan): Unit = {
    top.copyTagsFrom(below)
    below.logicalLink.foreach { link =>
      below.unsetTagValue(SparkPlan.LOGICAL_PLAN_TAG)
      below.setTagValue(SparkPlan.LOGICAL_PLAN_INHERITED_TAG, link)
    }
  }

  /**
   * Make the operators from `plan` down that belong to the logical operator of `lower` belong to that of `upper`. An
   * exchange has no link; AQE uses that of the operator below.
   */
  def moveUp(plan: SparkPlan, lower: SparkPlan, upper: SparkPlan): Unit =
    if (plan.logicalLink.isEmpty) plan.children.foreach(moveUp(_, lower, upper))
    else for (from <- lower.logicalLink; to <- upper.logicalLink if plan.logicalLink.exists(_ eq from)) {
      plan.unsetTagValue(SparkPlan.LOGICAL_PLAN_TAG)
      plan.setTagValue(SparkPlan.LOGICAL_PLAN_INHERITED_TAG, to)
      plan.children.foreach(moveUp(_, lower, upper))
    }
}
