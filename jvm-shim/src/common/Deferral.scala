package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, SortOrder}
import org.apache.spark.sql.catalyst.optimizer.JoinSelectionHelper
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.ShuffleQueryStageExec
import org.apache.spark.sql.execution.exchange.ENSURE_REQUIREMENTS
import org.apache.spark.sql.execution.joins.ShuffledHashJoinExec

/**
 * Lets the large side of a shuffled join wait until the small side's shuffle has run (AQE on). By then its size is
 * known, and where it can be broadcast the large side need not be shuffled at all; AQE on its own starts both.
 */
object Deferral extends JoinSelectionHelper {

  /** How many times more file bytes the large side must read. */
  private val LargeFactor = 2

  def apply(plan: SparkPlan): SparkPlan = plan match {
    case op @ PipelineOperatorExec(j: ShuffledHashJoinExec) =>
      (j.left, j.right) match {
        case (Fresh(large), Unfinished(small)) if canBuildBroadcastRight(j.joinType) && isLarger(large, small) =>
          op.withNewChildren(Seq(waiting(large, small), apply(small)))
        case (Unfinished(small), Fresh(large)) if canBuildBroadcastLeft(j.joinType) && isLarger(large, small) =>
          op.withNewChildren(Seq(apply(small), waiting(large, small)))
        case _ => op.mapChildren(apply)
      }
    case other => other.mapChildren(apply)
  }

  private def isLarger(large: SparkPlan, small: SparkPlan): Boolean =
    ScanBytes.of(large) >= ScanBytes.of(small) * LargeFactor

  /** `large` over an input that also needs `small`: AQE makes a stage of it when the stage of `small` is done. */
  private def waiting(large: PipelineShuffleExchangeExec, small: SparkPlan): SparkPlan = {
    val child = apply(large.child)
    val first = small match {
      case stage: ShuffleQueryStageExec => Some(stage)
      case exchange => large.child.logicalLink.map { link =>
        // It becomes the same stage, reused. AQE replaces the logical operator that each stage is tied to, and that of
        // the join's small side is replaced by the stage there; so this one is tied to the large side.
        val again = apply(exchange).clone()
        again.unsetTagValue(SparkPlan.LOGICAL_PLAN_INHERITED_TAG)
        again.setTagValue(SparkPlan.LOGICAL_PLAN_TAG, link)
        again
      }
    }
    large.withNewChildren(Seq(first.map(PipelineWaitExec(child, _)).getOrElse(child)))
  }

  /** An exchange of the engine, put in for a join, that no stage has been made of. */
  private object Fresh {
    def unapply(plan: SparkPlan): Option[PipelineShuffleExchangeExec] = plan match {
      case e: PipelineShuffleExchangeExec if e.shuffleOrigin == ENSURE_REQUIREMENTS => Some(e)
      case _ => None
    }
  }

  /** The same, or a stage of one that has not run to its end. */
  private object Unfinished {
    def unapply(plan: SparkPlan): Option[SparkPlan] = plan match {
      case stage: ShuffleQueryStageExec if !stage.isMaterialized && Wrapping.isInEngine(stage) => Some(stage)
      case Fresh(exchange) => Some(exchange)
      case _ => None
    }
  }
}

/** `child`, not before `first` is there. AQE plans anew when that is so; a plan it keeps all the same runs `child`. */
case class PipelineWaitExec(child: SparkPlan, first: SparkPlan) extends SparkPlan {
  override def children: Seq[SparkPlan] = Seq(child, first)
  override def output: Seq[Attribute] = child.output
  override def outputPartitioning: Partitioning = child.outputPartitioning
  override def outputOrdering: Seq[SortOrder] = child.outputOrdering
  override protected def doExecute(): RDD[InternalRow] = child.execute()
  override protected def withNewChildrenInternal(newChildren: IndexedSeq[SparkPlan]): SparkPlan =
    copy(child = newChildren(0), first = newChildren(1))
}
