package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, BindReferences, InterpretedOrdering, SortOrder, UnsafeProjection}
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

  override def executeCollect(): Array[InternalRow] =
    if (original.limit <= PipelineTakeOrderedExec.FewRows && original.subqueries.isEmpty) merged()
    else original.executeCollect()

  /** Return the first rows of all instances' few: without the jobs, functions and compiled order of an RDD's. */
  private def merged(): Array[InternalRow] = {
    val input = original.child.output
    val rows = original.child.executeCollect()
    java.util.Arrays.sort(rows, new InterpretedOrdering(BindReferences.bindReferences(original.sortOrder, input)))
    val few = rows.slice(original.offset, original.limit)
    if (original.projectList == input) few
    else {
      val project = UnsafeProjection.create(original.projectList, input)
      few.map(project(_).copy())
    }
  }

  override protected def doExecute(): RDD[InternalRow] = original.execute()

  override protected def doCanonicalize(): SparkPlan =
    PipelineTakeOrderedExec(original.canonicalized.asInstanceOf[TakeOrderedAndProjectExec])

  override protected def withNewChildrenInternal(newChildren: IndexedSeq[SparkPlan]): SparkPlan =
    copy(original = original.withNewChildren(newChildren).asInstanceOf[TakeOrderedAndProjectExec])
}

object PipelineTakeOrderedExec {

  /** Up to so many rows of each instance are sorted on the driver at once. */
  private val FewRows = 10000

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
