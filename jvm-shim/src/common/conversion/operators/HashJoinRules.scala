package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.optimizer.{BuildRight, BuildSide}
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.joins._
import org.apache.spark.sql.types.{DataType, DoubleType, FloatType}

/**
 * Sort-merge joins become hash joins without the sorts below. The build side is the one that Spark's statistics (of
 * finished stages, if there are any) estimate to be smaller.
 */
object SortMergeJoinRule extends UnorderedRule[SortMergeJoinExec] {

  /** Marks a hash join that Spark planned as a sort-merge join. */
  private val WasSorted: TreeNodeTag[Boolean] = TreeNodeTag[Boolean]("pysparkpipeline.wasSortMergeJoin")

  override def prepare(op: SortMergeJoinExec): SparkPlan = {
    val decision = op.logicalLink.map(_.children.map(_.stats.sizeInBytes)).collect {
      case Seq(left, right) => Policies.buildSide(op.joinType, left, right)
    }
    val (WithoutSort(left), WithoutSort(right)) = (op.left, op.right)
    val hash = ShuffledHashJoinExec(op.leftKeys, op.rightKeys, op.joinType, decision.fold[BuildSide](BuildRight)(_.choice),
      op.condition, left, right, op.isSkewJoin)
    hash.copyTagsFrom(op)
    hash.setTagValue(WasSorted, true)
    decision.foreach(Decisions.add(hash, _))
    hash
  }

  override def movesRows(op: SortMergeJoinExec): Boolean = true

  /** Return the join as Spark planned it. */
  def planned(hash: ShuffledHashJoinExec): SparkPlan =
    if (hash.getTagValue(WasSorted).isEmpty) hash
    else {
      val merge = SortMergeJoinExec(
        hash.leftKeys, hash.rightKeys, hash.joinType, hash.condition, hash.left, hash.right, hash.isSkewJoin)
      val sorted = RowOrder.supply(merge)
      sorted.copyTagsFrom(hash)
      sorted.unsetTagValue(WasSorted)
      sorted
    }
}

object ShuffledHashJoinRule extends JoinRule[ShuffledHashJoinExec] {
  override def revert(op: ShuffledHashJoinExec): SparkPlan =
    NestedLoopJoinRule.planned(op).getOrElse(SortMergeJoinRule.planned(op))
  override def movesRows(op: ShuffledHashJoinExec): Boolean = true
  override def buildSide(op: ShuffledHashJoinExec): Option[BuildSide] = Some(op.buildSide)
}

object BroadcastHashJoinRule extends JoinRule[BroadcastHashJoinExec] {

  override def limitation(op: BroadcastHashJoinExec): Option[String] =
    if (op.isNullAwareAntiJoin && op.leftKeys.exists(k => isFloating(k.dataType))) {
      Some("NOT IN compares floating numbers by their bits in Spark: 0.0 is not in (-0.0)")
    } else None

  private def isFloating(t: DataType): Boolean = t == FloatType || t == DoubleType

  override def buildSide(op: BroadcastHashJoinExec): Option[BuildSide] = Some(op.buildSide)

  /** The broadcast side has no partitions, and its rows without a match are in no output. */
  override def isRowwise(op: BroadcastHashJoinExec): Boolean = true
}
