package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, SortOrder}
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution.SparkPlan

/** Runs `child` after `first` has run. AQE replans at that time; if it keeps the plan, this node runs `child`. */
case class PipelineWaitExec(child: SparkPlan, first: SparkPlan) extends SparkPlan {
  override def children: Seq[SparkPlan] = Seq(child, first)
  override def output: Seq[Attribute] = child.output
  override def outputPartitioning: Partitioning = child.outputPartitioning
  override def outputOrdering: Seq[SortOrder] = child.outputOrdering
  override protected def doExecute(): RDD[InternalRow] = child.execute()

  /** Equal to `child`, so that AQE may reuse an exchange over it that does not wait. */
  override protected def doCanonicalize(): SparkPlan = child.canonicalized

  override protected def withNewChildrenInternal(newChildren: IndexedSeq[SparkPlan]): SparkPlan =
    copy(child = newChildren(0), first = newChildren(1))
}
