package org.apache.spark.sql.pysparkpipeline

import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.sql.catalyst.expressions.SortOrder
import org.apache.spark.sql.catalyst.plans.logical.Sort
import org.apache.spark.sql.catalyst.plans.physical.{RangePartitioning, SinglePartition}
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.{SortExec, SparkPlan}
import org.apache.spark.sql.internal.SQLConf

/** Global sorts and the sorts within partitions that a user asks for. Other sorts disappear with their operators. */
object SortRule extends OperatorRule[SortExec] {

  /** Marks the sort below an ordered exchange, whose senders emit sorted runs. */
  private val EmitsSortedRuns: TreeNodeTag[Boolean] = TreeNodeTag[Boolean]("pysparkpipeline.emitsSortedRuns")

  /** Marks a sort that Spark added and whose order functions of the engine may read. */
  private val IsRequested: TreeNodeTag[Boolean] = TreeNodeTag[Boolean]("pysparkpipeline.isRequestedSort")

  /** A sort within partitions for a Spark operator stays: the engine does not guarantee an order to Spark. */
  override def limitation(op: SortExec): Option[String] = {
    val isRequested =
      op.global || isOfUser(op) || Seq(EmitsSortedRuns, IsRequested).exists(op.getTagValue(_).isDefined)
    if (isRequested) None else Some("a sort that an operator in Spark needs is not supported")
  }

  /** Return whether the user asked for `op`, a sort within partitions. */
  def isOfUser(op: SortExec): Boolean = op.logicalLink.exists {
    case s: Sort => !s.global
    case _ => false
  }

  /** Let `op` run in the engine although the user did not ask for it. */
  def request(op: SortExec): Unit = op.setTagValue(IsRequested, true)

  /** Replace the exchange of a global sort of little data by an ordered exchange. */
  override def finish(
      converted: PipelineOperatorExec, planned: SortExec, isOrderRead: Boolean, conf: SQLConf): SparkPlan =
    converted.original match {
      case sort @ SortExec(_, true, e: PipelineShuffleExchangeExec, _) if e.outputPartitioning.isInstanceOf[RangePartitioning] =>
        val decision = sort.logicalLink.map { plan =>
          Policies.gather(CostModel.sortedBytes(plan), new CostModel(conf).gatherLimit)
        }
        decision.foreach(Decisions.add(converted, _))
        if (decision.exists(_.choice)) converted.withNewChildren(Seq(orderedExchange(sort, e))) else converted
      case _ => converted
    }

  override def keepsInputOrder(op: SortExec): Boolean = false

  override def movesRows(op: SortExec): Boolean = op.global

  override def isHeavy(op: SortExec): Boolean = true

  override def describe(op: SortExec, node: ObjectNode, plan: PlanJson): Unit = {
    super.describe(op, node, plan)
    if (receivesSortedRuns(op)) node.put("getsRuns", true)
  }

  /**
   * Return the ordered exchange for the input of a small global sort: the senders sort their rows, and a single partition
   * receives them, instead of an exchange to ranges.
   */
  private def orderedExchange(sort: SortExec, e: PipelineShuffleExchangeExec): SparkPlan = {
    val runs = SortExec(sort.sortOrder, global = false, e.child)
    runs.setTagValue(EmitsSortedRuns, true)
    val single = e.copy(outputPartitioning = SinglePartition, child = Convert(runs))
    single.copyTagsFrom(e)
    single
  }

  /** Return whether the rows of each sender arrive in the order of `sort`. */
  private def receivesSortedRuns(sort: SortExec): Boolean = Exchanges.behind(sort.child) match {
    case PipelineShuffleExchangeExec(_, PipelineFragmentExec(PipelineOperatorExec(sent: SortExec), _, _), _, _) =>
      SortOrder.orderingSatisfies(sent.sortOrder, sort.sortOrder)
    case _ => false
  }
}
