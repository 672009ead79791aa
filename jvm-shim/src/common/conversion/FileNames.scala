package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.exchange.Exchange

/**
 * Finds operators below `input_file_name()` and `input_file_block_*()`. These functions read a thread-local variable
 * that Spark's scan sets row by row. An operator of the engine between the scan and such a function would read rows
 * ahead, so all operators from the function down to the scans of its stage stay in Spark.
 */
object FileNames {
  val Reason = "the query asks for the name of the file a row comes from, which only Spark's own scan tells"

  private val Functions = Set("InputFileName", "InputFileBlockStart", "InputFileBlockLength")

  private val Below: TreeNodeTag[Boolean] = TreeNodeTag[Boolean]("pysparkpipeline.belowFileName")

  /** Mark the operators of `plan` that must stay in Spark. */
  def mark(plan: SparkPlan): Unit = {
    plan.foreach(_.unsetTagValue(Below))
    visit(plan, isBelow = false)
  }

  def isBelow(plan: SparkPlan): Boolean = plan.getTagValue(Below).isDefined

  private def visit(plan: SparkPlan, isBelow: Boolean): Unit = {
    val below = !plan.isInstanceOf[Exchange] && (isBelow || readsIn(plan.expressions))
    if (below) plan.setTagValue(Below, true)
    plan.children.foreach(visit(_, below))
  }

  private def readsIn(expressions: Seq[Expression]): Boolean =
    expressions.exists(_.exists(e => Functions(ExpressionJson.name(e))))
}
