package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.SparkPlan

/** Labels each converted operator with its fragment, for explain before execution. */
object ExplainTags {
  /** The label of an operator's fragment: "fragment 2". */
  val Fragment: TreeNodeTag[String] = TreeNodeTag[String]("pysparkpipeline.fragment")

  def set(plan: SparkPlan): Unit = {
    var fragments = 0
    def visit(node: SparkPlan, current: Option[Int]): Unit = node match {
      case op: PipelineOperatorExec =>
        val fragment = current.getOrElse { fragments += 1; fragments }
        op.setTagValue(Fragment, s"fragment $fragment")
        op.children.foreach(visit(_, Some(fragment)))
      case other => other.children.foreach(visit(_, None))
    }
    visit(plan, None)
  }
}
