package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.expressions.Literal
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight, BuildSide}
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.physical.{BroadcastPartitioning, IdentityBroadcastMode, SinglePartition}
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.exchange.{BroadcastExchangeExec, ENSURE_REQUIREMENTS, ShuffleExchangeExec, ShuffleExchangeLike}
import org.apache.spark.sql.execution.joins.{BroadcastNestedLoopJoinExec, CartesianProductExec, ShuffledHashJoinExec}

object NestedLoopJoinRule extends JoinRule[BroadcastNestedLoopJoinExec] {

  /** Marks a hash join that Spark planned as a nested loop join. */
  private val WasNestedLoop: TreeNodeTag[BuildSide] = TreeNodeTag[BuildSide]("pysparkpipeline.wasNestedLoopJoin")

  /**
   * A full outer join without equal keys needs all rows of both sides in one place, so it becomes a hash join on a
   * constant key in one partition.
   */
  override def prepare(op: BroadcastNestedLoopJoinExec): SparkPlan = op.joinType match {
    case FullOuter if op.children.forall(isUnbroadcast) =>
      val key = Seq(Literal(1))
      val hash = ShuffledHashJoinExec(
        key, key, FullOuter, op.buildSide, op.condition, gathered(op.left), gathered(op.right))
      hash.copyTagsFrom(op)
      hash.setTagValue(WasNestedLoop, op.buildSide)
      hash
    case _ => op
  }

  /** Return `hash` as Spark planned it, if it was a nested loop join. */
  def planned(hash: ShuffledHashJoinExec): Option[SparkPlan] = hash.getTagValue(WasNestedLoop).map { side =>
    def broadcast(input: SparkPlan, isBuilt: Boolean): SparkPlan = {
      val plain = ungathered(input)
      if (!isBuilt) plain
      else if (Convert.isInEngine(plain)) PipelineBroadcastExchangeExec(IdentityBroadcastMode, plain)
      else BroadcastExchangeExec(IdentityBroadcastMode, plain)
    }
    val loop = BroadcastNestedLoopJoinExec(broadcast(hash.left, side == BuildLeft),
      broadcast(hash.right, side == BuildRight), side, hash.joinType, hash.condition)
    loop.copyTagsFrom(hash)
    loop.unsetTagValue(WasNestedLoop)
    loop
  }

  /** Return the input of an exchange that [[gathered]] has added. */
  private def ungathered(plan: SparkPlan): SparkPlan = plan match {
    case e: ShuffleExchangeLike if e.outputPartitioning == SinglePartition && e.shuffleOrigin == ENSURE_REQUIREMENTS =>
      e.child
    case other => other
  }

  /** Return whether `plan` was not broadcast yet. */
  private def isUnbroadcast(plan: SparkPlan): Boolean =
    plan.isInstanceOf[BroadcastExchangeExec] || !plan.outputPartitioning.isInstanceOf[BroadcastPartitioning]

  private def gathered(plan: SparkPlan): SparkPlan = plan match {
    case BroadcastExchangeExec(_, child) => gathered(child)
    case single if single.outputPartitioning == SinglePartition => single
    case other => ShuffleExchangeExec(SinglePartition, other)
  }

  override def limitation(op: BroadcastNestedLoopJoinExec): Option[String] =
    if (seesAllMatches(op.joinType, op.buildSide)) None
    else Some(s"a nested loop join of kind ${op.joinType.sql} needs all rows of both sides in one place")

  /** Return whether the output of each instance is independent of the broadcast rows that others matched. */
  private def seesAllMatches(kind: JoinType, side: BuildSide): Boolean = (kind, side) match {
    case (_: InnerLike, _) | (LeftOuter | LeftSingle | LeftSemi | LeftAnti | ExistenceJoin(_), BuildRight) |
        (RightOuter, BuildLeft) => true
    case _ => false
  }

  override def buildSide(op: BroadcastNestedLoopJoinExec): Option[BuildSide] = Some(op.buildSide)
}

object CartesianProductRule extends JoinRule[CartesianProductExec] {

  override def buildSide(op: CartesianProductExec): Option[BuildSide] = Some(BuildRight)

  /** Combine every partition of one side with every partition of the other. */
  override def assignments(
      op: CartesianProductExec, number: Int, inputs: Seq[Option[Seq[TaskAssignment]]]): Option[Seq[TaskAssignment]] =
    inputs.flatten.reduceOption((left, right) => left.flatMap(a => right.map(a.and)))
}
