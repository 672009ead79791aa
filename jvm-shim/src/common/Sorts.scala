package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, SortOrder}
import org.apache.spark.sql.catalyst.plans.logical.{Expand, Generate, LogicalPlan, Sort}
import org.apache.spark.sql.catalyst.plans.physical.{Partitioning, RangePartitioning, SinglePartition}
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.{SortExec, SparkPlan, TakeOrderedAndProjectExec}
import org.apache.spark.sql.execution.metric.SQLMetric

/** Sorts in the engine: how a global one gets its rows, and which sorts Spark left out. */
object Sorts {

  /** Marks the sort that a sender of an ordered exchange does. */
  private val MakesRuns: TreeNodeTag[Boolean] = TreeNodeTag[Boolean]("pysparkpipeline.makesRuns")

  /** Why a sort within partitions stays: what is in the engine promises no order to what is not. */
  def reason(sort: SortExec): Option[String] = {
    val isAsked = sort.global || sort.getTagValue(MakesRuns).isDefined || sort.logicalLink.exists {
      case s: Sort => !s.global
      case _ => false
    }
    if (isAsked) None else Some("a sort that an operator in Spark needs is not supported")
  }

  /**
   * What is below a global sort where there is little to sort: an ordered exchange, of rows that each sender has
   * sorted, to a single partition, instead of one to ranges.
   */
  def gathered(sort: SortExec, mostBytes: Long): Option[SparkPlan] = sort.child match {
    case e: PipelineShuffleExchangeExec
        if e.outputPartitioning.isInstanceOf[RangePartitioning] && isSmall(sort, mostBytes) =>
      val runs = SortExec(sort.sortOrder, global = false, e.child)
      runs.setTagValue(MakesRuns, true)
      val single = e.copy(outputPartitioning = SinglePartition, child = Wrapping(runs))
      single.copyTagsFrom(e)
      Some(single)
    case _ => None
  }

  /** Whether the rows of each sender come in the order that `sort` makes. */
  def getsRuns(sort: SortExec): Boolean = Exchanges.behind(sort.child) match {
    case PipelineShuffleExchangeExec(_, PipelineFragmentExec(PipelineOperatorExec(sent: SortExec), _), _, _) =>
      SortOrder.orderingSatisfies(sent.sortOrder, sort.sortOrder)
    case _ => false
  }

  /** `plan` over the sorts that it requires and its inputs lack. */
  def supplied(plan: SparkPlan): SparkPlan = {
    val children = plan.children.zip(plan.requiredChildOrdering).map { case (child, required) =>
      if (SortOrder.orderingSatisfies(child.outputOrdering, required)) child
      else SortExec(required, global = false, child)
    }
    if (children.corresponds(plan.children)(_ eq _)) plan else plan.withNewChildren(children)
  }

  /** By what is read below: Spark's own estimate of a join is the product of its sides. What is more, spills. */
  private def isSmall(sort: SortExec, mostBytes: Long): Boolean = sort.logicalLink.exists { plan =>
    plan.stats.sizeInBytes <= mostBytes ||
      (!plan.exists(p => p.isInstanceOf[Generate] || p.isInstanceOf[Expand]) &&
        plan.collectLeaves().map(_.stats.sizeInBytes).sum <= mostBytes)
  }

  /**
   * Whether the order of the plan's rows may be what a sort promised that Spark left out, because an operator
   * below gives that order already: there are more sorts in the logical plan than in the physical one.
   */
  def areLeftOut(plan: SparkPlan): Boolean = {
    val wanted = plan.logicalLink.map(sorts).getOrElse(0)
    wanted > 0 && wanted > plan.collect {
      case s: SortExec if s.logicalLink.isDefined => s
      case t: TakeOrderedAndProjectExec => t
    }.length
  }

  private def sorts(plan: LogicalPlan): Int = plan.collect { case s: Sort => s }.length
}

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

  /** `top` over the part of it that each instance runs; `child` is its input in the engine. */
  def over(top: TakeOrderedAndProjectExec, child: SparkPlan): PipelineTakeOrderedExec = {
    val part = top.copy(projectList = child.output, child = child, offset = 0)
    part.copyTagsFrom(top)
    val wrapped = Wrapping(part)
    val made = PipelineTakeOrderedExec(top.copy(child = wrapped))
    Links.putAbove(made, wrapped)
    made
  }

  /** The operator as Spark planned it. */
  def planned(made: PipelineTakeOrderedExec): TakeOrderedAndProjectExec = Links.move(made, made.original.child match {
    case PipelineOperatorExec(part: TakeOrderedAndProjectExec) => made.original.copy(child = part.child)
    case _ => made.original
  })
}
