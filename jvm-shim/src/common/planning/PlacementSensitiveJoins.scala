package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNodeTag

/**
 * Marks the joins below expressions that depend on the placement of rows ([[Placement]]). [[BroadcastStrategy]] sees no
 * operator above a join, so it reads these marks.
 */
object PlacementSensitiveJoins extends Rule[LogicalPlan] {

  private val Sensitive: TreeNodeTag[Boolean] = TreeNodeTag[Boolean]("pysparkpipeline.placementSensitive")

  def isSensitive(join: LogicalPlan): Boolean = join.getTagValue(Sensitive).isDefined

  override def apply(plan: LogicalPlan): LogicalPlan = {
    plan.foreach { reader =>
      if (Placement.readerIn(reader).isDefined) {
        reader.children.foreach(_.foreach { case join: Join => join.setTagValue(Sensitive, true); case _ => })
      }
    }
    plan
  }
}
