package org.apache.spark.sql.pysparkpipeline

import java.util.concurrent.atomic.AtomicInteger

import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.SparkPlan

/**
 * Numbers fragments, uniquely in the driver. Conversion numbers the operators of each future fragment; [[Fusion]] gives
 * the fragment the number of its root, and copies of a plan keep it. So explain before and after execution, Spark's UI,
 * profiles, timelines, captures and errors of workers call a fragment by one number. A part that AQE plans anew is a new
 * fragment.
 */
object FragmentNumbers {
  private val Tag = TreeNodeTag[Int]("pysparkpipeline.fragment")
  private val last = new AtomicInteger

  /** Number the converted operators of a plan, connected ones equally. */
  def assign(plan: SparkPlan): Unit = plan match {
    case op: PipelineOperatorExec => assign(op, last.incrementAndGet())
    case other => other.children.foreach(assign)
  }

  private def assign(plan: SparkPlan, number: Int): Unit = plan match {
    case op: PipelineOperatorExec =>
      op.setTagValue(Tag, number)
      op.children.foreach(assign(_, number))
    case input => assign(input)
  }

  /** Return the number of a converted operator or fragment; None before it has one. */
  def of(plan: SparkPlan): Option[Int] = plan.getTagValue(Tag)

  /** Give `fragment` the number of its root, or a new one if the root has none. */
  def set(fragment: PipelineFragmentExec): Unit =
    fragment.setTagValue(Tag, of(fragment.root).getOrElse(last.incrementAndGet()))
}
