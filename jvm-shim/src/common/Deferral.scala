package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, SortOrder}
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight, JoinSelectionHelper}
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution.{FilterExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.ShuffleQueryStageExec
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.execution.exchange.ENSURE_REQUIREMENTS
import org.apache.spark.sql.execution.joins.{BaseJoinExec, ShuffledHashJoinExec}

/**
 * Lets the large side of a shuffled join wait until the small side's shuffle has run (AQE on). By then its size is
 * known: where it can be broadcast the large side need not be shuffled at all, and [[SemiJoinReduction]] may drop rows
 * of the large side before its shuffle. AQE on its own starts both.
 */
object Deferral extends JoinSelectionHelper {

  def apply(plan: SparkPlan): SparkPlan = {
    plan.foreach(_.logicalLink.foreach(_.unsetTagValue(SemiJoinReduction.Waits)))
    defer(plan)
  }

  private def defer(plan: SparkPlan): SparkPlan = plan match {
    case op @ PipelineOperatorExec(j: ShuffledHashJoinExec) =>
      val kind = j.joinType
      val leftMay = canBuildBroadcastLeft(kind) || SemiJoins.drops(kind, BuildRight)
      val rightMay = canBuildBroadcastRight(kind) || SemiJoins.drops(kind, BuildLeft)
      val changed =
        if (rightMay && goesFirst(j.right, j.left)) behind(j.left, j.right).map(Seq(_, defer(j.right)))
        else if (leftMay && goesFirst(j.left, j.right)) behind(j.right, j.left).map(Seq(defer(j.left), _))
        else None
      changed.map(op.withNewChildren).getOrElse(op.mapChildren(defer))
    case other => other.mapChildren(defer)
  }

  /**
   * Whether the stage of `small` is likely to spare that of `large` much: an aggregation is better fed less, what
   * drops rows in more places is taken to leave fewer, else the files below tell.
   */
  private def goesFirst(small: SparkPlan, large: SparkPlan): Boolean = {
    val isGrouped = aggregates(large)
    val smallReductions = reductions(small)
    lazy val largeReductions = reductions(large)
    if (aggregates(small) != isGrouped) isGrouped && smallReductions > 0
    else if (smallReductions != largeReductions) smallReductions > largeReductions
    else ScanBytes.outweighs(ScanBytes.of(large), ScanBytes.of(small))
  }

  private def aggregates(side: SparkPlan): Boolean = side match {
    case PipelineOperatorExec(_: BaseAggregateExec) => true
    case one @ (_: PipelineOperatorExec | Fresh(_)) if one.children.length == 1 => aggregates(one.children.head)
    case _ => false
  }

  private def reductions(side: SparkPlan): Int = ScanBytes.operators(side).count {
    case f: FilterExec => SemiJoins.isSelective(f.condition)
    case j: BaseJoinExec => SemiJoins.isSelective(j.joinType)
    case _ => false
  }

  /** `large` with its first stage waiting for that of `small`, where neither has run. */
  private def behind(large: SparkPlan, small: SparkPlan): Option[SparkPlan] = (large, small) match {
    case (op @ PipelineOperatorExec(j: BaseJoinExec), _) =>
      SemiJoins.kept(j.joinType).flatMap {
        case BuildLeft => behind(j.left, small).map(left => op.withNewChildren(Seq(left, defer(j.right))))
        case BuildRight => behind(j.right, small).map(right => op.withNewChildren(Seq(defer(j.left), right)))
      }.headOption
    case (one @ (_: PipelineOperatorExec | Fresh(_)), Unfinished(first)) if one.children.length == 1 =>
      val later = behind(one.children.head, small).map(child => one.withNewChildren(Seq(child)))
      later.orElse(Option(one).collect { case Fresh(exchange) => waiting(exchange, first) })
    case _ => None
  }

  /** AQE makes a stage of the result when the stage of `small` is done. */
  private def waiting(large: PipelineShuffleExchangeExec, small: SparkPlan): SparkPlan = {
    val child = defer(large.child)
    large.child.logicalLink.foreach(_.setTagValue(SemiJoinReduction.Waits, true))
    val first = small match {
      case stage: ShuffleQueryStageExec => Some(stage)
      case exchange => large.child.logicalLink.map { link =>
        // It becomes the same stage, reused. AQE replaces the logical operator that each stage is tied to, and that of
        // the join's small side is replaced by the stage there; so this one is tied to the large side.
        val again = defer(exchange).clone()
        again.unsetTagValue(SparkPlan.LOGICAL_PLAN_INHERITED_TAG)
        again.setTagValue(SparkPlan.LOGICAL_PLAN_TAG, link)
        again
      }
    }
    large.withNewChildren(Seq(first.map(PipelineWaitExec(child, _)).getOrElse(child)))
  }

  /** An exchange of the engine, put in for a join or an aggregation, that no stage has been made of. */
  private object Fresh {
    def unapply(plan: SparkPlan): Option[PipelineShuffleExchangeExec] = plan match {
      case e: PipelineShuffleExchangeExec if e.shuffleOrigin == ENSURE_REQUIREMENTS => Some(e)
      case _ => None
    }
  }

  /**
   * The same, or a stage of one that has not run to its end: the first below `plan` through operators and joins
   * whose rows each come from one of its rows.
   */
  private object Unfinished {
    def unapply(plan: SparkPlan): Option[SparkPlan] = plan match {
      case stage: ShuffleQueryStageExec if !stage.isMaterialized && Wrapping.isInEngine(stage) => Some(stage)
      case Fresh(exchange) => Some(exchange)
      case PipelineOperatorExec(j: BaseJoinExec) =>
        SemiJoins.kept(j.joinType).flatMap(side => unapply(if (side == BuildLeft) j.left else j.right)).headOption
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

  /** An exchange of the same that does not wait serves as well. */
  override protected def doCanonicalize(): SparkPlan = child.canonicalized

  override protected def withNewChildrenInternal(newChildren: IndexedSeq[SparkPlan]): SparkPlan =
    copy(child = newChildren(0), first = newChildren(1))
}
