package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight, JoinSelectionHelper}
import org.apache.spark.sql.execution.{FilterExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.ShuffleQueryStageExec
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.execution.exchange.ENSURE_REQUIREMENTS
import org.apache.spark.sql.execution.joins.{BaseJoinExec, ShuffledHashJoinExec}

/**
 * Delays the large side of a shuffled join until the small side's shuffle has run (AQE on). Then the small side's size
 * is known: if it can be broadcast, the large side needs no shuffle; else [[SemiJoinReduction]] may drop rows of the
 * large side before its shuffle. AQE alone starts both sides at once.
 */
object StageOrdering extends JoinSelectionHelper {

  def apply(plan: SparkPlan): SparkPlan = {
    plan.foreach(_.logicalLink.foreach(_.unsetTagValue(SemiJoinReduction.Waits)))
    order(plan)
  }

  private def order(plan: SparkPlan): SparkPlan = plan match {
    case op @ PipelineOperatorExec(j: ShuffledHashJoinExec) =>
      val kind = j.joinType
      val leftMay = canBuildBroadcastLeft(kind) || SemiJoins.drops(kind, BuildRight)
      val rightMay = canBuildBroadcastRight(kind) || SemiJoins.drops(kind, BuildLeft)
      val (left, right) = (side(j.left), side(j.right))
      lazy val delaysLeft = Policies.delay(BuildLeft, large = left, small = right)
      lazy val delaysRight = Policies.delay(BuildRight, large = right, small = left)
      val changed =
        if (rightMay && delaysLeft.choice) delayed(j.left, j.right).map(l => delaysLeft -> Seq(l, order(j.right)))
        else if (leftMay && delaysRight.choice) delayed(j.right, j.left).map(r => delaysRight -> Seq(order(j.left), r))
        else None
      changed.fold(op.mapChildren(order)) { case (decision, children) =>
        val ordered = op.withNewChildren(children)
        Decisions.add(ordered, decision)
        ordered
      }
    case other => other.mapChildren(order)
  }

  private def side(plan: SparkPlan): Policies.JoinSide =
    new Policies.JoinSide(aggregates(plan), reductions(plan), CostModel.scanBytes(plan))

  private def aggregates(side: SparkPlan): Boolean = side match {
    case PipelineOperatorExec(_: BaseAggregateExec) => true
    case one @ (_: PipelineOperatorExec | UnmaterializedExchange(_)) if one.children.length == 1 =>
      aggregates(one.children.head)
    case _ => false
  }

  private def reductions(side: SparkPlan): Int = CostModel.operators(side).count {
    case f: FilterExec => SemiJoins.isSelective(f.condition)
    case j: BaseJoinExec => SemiJoins.isSelective(j.joinType)
    case _ => false
  }

  /** Return `large` with its first stage delayed until that of `small` has run; None if one of them has run. */
  private def delayed(large: SparkPlan, small: SparkPlan): Option[SparkPlan] = (large, small) match {
    case (op @ PipelineOperatorExec(j: BaseJoinExec), _) =>
      SemiJoins.preservedSides(j.joinType).flatMap {
        case BuildLeft => delayed(j.left, small).map(left => op.withNewChildren(Seq(left, order(j.right))))
        case BuildRight => delayed(j.right, small).map(right => op.withNewChildren(Seq(order(j.left), right)))
      }.headOption
    case (one @ (_: PipelineOperatorExec | UnmaterializedExchange(_)), UnfinishedStage(first)) if one.children.length == 1 =>
      val later = delayed(one.children.head, small).map(child => one.withNewChildren(Seq(child)))
      later.orElse(Option(one).collect { case UnmaterializedExchange(exchange) => awaiting(exchange, first) })
    case _ => None
  }

  /** Return `large` as an exchange that AQE turns into a stage once the stage of `small` has run. */
  private def awaiting(large: PipelineShuffleExchangeExec, small: SparkPlan): SparkPlan = {
    val child = order(large.child)
    large.child.logicalLink.foreach(_.setTagValue(SemiJoinReduction.Waits, true))
    val first = small match {
      case stage: ShuffleQueryStageExec => Some(stage)
      case exchange => large.child.logicalLink.map { link =>
        // AQE reuses the stage for both. It replaces the logical operator that each stage is linked to, and the stage
        // of the join's small side replaces that of the small side; so this copy is linked to the large side.
        val again = order(exchange).clone()
        again.unsetTagValue(SparkPlan.LOGICAL_PLAN_INHERITED_TAG)
        again.setTagValue(SparkPlan.LOGICAL_PLAN_TAG, link)
        again
      }
    }
    large.withNewChildren(Seq(first.map(PipelineWaitExec(child, _)).getOrElse(child)))
  }

  /** An exchange of the engine for a join or an aggregation that is not a stage yet. */
  private object UnmaterializedExchange {
    def unapply(plan: SparkPlan): Option[PipelineShuffleExchangeExec] = plan match {
      case e: PipelineShuffleExchangeExec if e.shuffleOrigin == ENSURE_REQUIREMENTS => Some(e)
      case _ => None
    }
  }

  /**
   * An [[UnmaterializedExchange]], or its stage that has not finished: the first one below `plan`, through operators and
   * joins whose rows each take one row from it.
   */
  private object UnfinishedStage {
    def unapply(plan: SparkPlan): Option[SparkPlan] = plan match {
      case stage: ShuffleQueryStageExec if !stage.isMaterialized && Convert.isInEngine(stage) => Some(stage)
      case UnmaterializedExchange(exchange) => Some(exchange)
      case PipelineOperatorExec(j: BaseJoinExec) =>
        SemiJoins.preservedSides(j.joinType).flatMap(side => unapply(if (side == BuildLeft) j.left else j.right)).headOption
      case _ => None
    }
  }
}
