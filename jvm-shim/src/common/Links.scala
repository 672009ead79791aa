package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.execution.SparkPlan

/**
 * The ties of physical operators to logical ones, which AQE replaces finished stages by. They are tags: the topmost
 * operator of a logical one has a tie of its own, those below inherit it, and only inherited ones follow when the
 * topmost is tied anew. So tags are copied, and never set with `setLogicalLink`, which makes a tie an own one.
 */
object Links {
  private val Ties = Seq(SparkPlan.LOGICAL_PLAN_TAG, SparkPlan.LOGICAL_PLAN_INHERITED_TAG)

  /** Tie `to` as `from` is: AQE ties what stands in the plan, not what is wrapped in it. */
  def move[T <: SparkPlan](from: SparkPlan, to: T): T = {
    Ties.foreach { tie =>
      from.getTagValue(tie) match {
        case Some(link) => to.setTagValue(tie, link)
        case None => to.unsetTagValue(tie)
      }
    }
    to
  }

  /** Make `top` the topmost operator of what `below` is tied to. */
  def putAbove(top: SparkPlan, below: SparkPlan): Unit = {
    top.copyTagsFrom(below)
    below.logicalLink.foreach { link =>
      below.unsetTagValue(SparkPlan.LOGICAL_PLAN_TAG)
      below.setTagValue(SparkPlan.LOGICAL_PLAN_INHERITED_TAG, link)
    }
  }
}
