package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, SortOrder}
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution.{SparkPlan, TakeOrderedAndProjectExec}
import org.apache.spark.sql.execution.metric.SQLMetric

/**
 * The first rows of a sorted input: each fragment instance below keeps its own first rows, the driver merges
 * those few as Spark's `TakeOrderedAndProjectExec` does. `original` is that operator over the fragment.
 */
case class PipelineTakeOrderedExec(original: TakeOrderedAndProjectExec) extends SparkPlan {

  override def children: Seq[SparkPlan] = original.children

  override def output: Seq[Attribute] = original.output

  override def outputPartitioning: Partitioning = original.outputPartitioning

  override def outputOrdering: Seq[SortOrder] = original.outputOrdering

  override lazy val metrics: Map[String, SQLMetric] = original.metrics

  override def nodeName: String = "PipelineTakeOrderedAndProject"

  override def simpleString(maxFields: Int): String = "Pipeline" + original.simpleString(maxFields)

  override def executeCollect(): Array[InternalRow] = original.executeCollect()

  override protected def doExecute(): RDD[InternalRow] = original.execute()

  override protected def doCanonicalize(): SparkPlan =
    PipelineTakeOrderedExec(original.canonicalized.asInstanceOf[TakeOrderedAndProjectExec])

  override protected def withNewChildrenInternal(newChildren: IndexedSeq[SparkPlan]): SparkPlan =
    copy(original = original.withNewChildren(newChildren).asInstanceOf[TakeOrderedAndProjectExec])
}

object PipelineTakeOrderedExec {

  /** Return `top` over the part that each instance runs; `child` is its input in the engine. */
  def over(top: TakeOrderedAndProjectExec, child: SparkPlan): PipelineTakeOrderedExec = {
    val part = top.copy(projectList = child.output, child = child, offset = 0)
    part.copyTagsFrom(top)
    val converted = Convert(part)
    val merging = PipelineTakeOrderedExec(top.copy(child = converted))
    LogicalLinks.insertAbove(merging, converted)
    merging
  }

  /** Return the operator as Spark planned it. */
  def planned(top: PipelineTakeOrderedExec): TakeOrderedAndProjectExec =
    LogicalLinks.copy(top, top.original.child match {
      case PipelineOperatorExec(part: TakeOrderedAndProjectExec) => top.original.copy(child = part.child)
      case _ => top.original
    })
}
