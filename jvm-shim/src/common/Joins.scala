package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight, BuildSide}
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.{SortExec, SparkPlan}
import org.apache.spark.sql.execution.joins._

/**
 * Joins in the engine. A sort-merge join becomes a hash join and loses the sorts below it; the build side is the
 * one whose data Spark's statistics (those of finished stages, where there are any) call smaller.
 */
object Joins {

  /** Marks a hash join that Spark planned as a sort-merge join. */
  private val WasSorted: TreeNodeTag[Boolean] = TreeNodeTag[Boolean]("pysparkpipeline.wasSortMergeJoin")

  /** How many times larger the other side must be before the side whose every row is kept is the one built. */
  private val OuterFactor = 4

  def hashed(join: SortMergeJoinExec): ShuffledHashJoinExec = {
    val hash = ShuffledHashJoinExec(join.leftKeys, join.rightKeys, join.joinType, side(join), join.condition,
      unsorted(join.left), unsorted(join.right), join.isSkewJoin)
    hash.copyTagsFrom(join)
    hash.setTagValue(WasSorted, true)
    hash
  }

  /** The join as Spark planned it. */
  def planned(join: SparkPlan): SparkPlan = join match {
    case h: ShuffledHashJoinExec if h.getTagValue(WasSorted).isDefined =>
      val merge = SortMergeJoinExec(h.leftKeys, h.rightKeys, h.joinType, h.condition, h.left, h.right, h.isSkewJoin)
      val sorted = Sorts.supplied(merge)
      sorted.copyTagsFrom(h)
      sorted.unsetTagValue(WasSorted)
      sorted
    case other => other
  }

  def reason(plan: SparkPlan): Option[String] = plan match {
    case j: BaseJoinExec if j.joinType == LeftSingle => Some("a join that may match once only is not supported")
    case j: BroadcastNestedLoopJoinExec if !seesAllMatches(j.joinType, j.buildSide) =>
      Some(s"a nested loop join of kind ${j.joinType.sql} needs all rows of both sides in one place")
    case _ => None
  }

  /** The side of a join that is read whole before the other one; None where `plan` is no join. */
  def buildSide(plan: SparkPlan): Option[BuildSide] = plan match {
    case j: HashJoin => Some(j.buildSide)
    case j: BroadcastNestedLoopJoinExec => Some(j.buildSide)
    case _: CartesianProductExec => Some(BuildRight)
    case _ => None
  }

  /** Whether no row of the broadcast side needs to know what other instances matched. */
  private def seesAllMatches(kind: JoinType, side: BuildSide): Boolean = (kind, side) match {
    case (_: InnerLike, _) | (LeftOuter | LeftSemi | LeftAnti | ExistenceJoin(_), BuildRight) |
        (RightOuter, BuildLeft) => true
    case _ => false
  }

  private def unsorted(plan: SparkPlan): SparkPlan = plan match {
    case SortExec(_, false, child, _) => child
    case other => other
  }

  private def side(join: SortMergeJoinExec): BuildSide = {
    val sizes = join.logicalLink.toSeq.flatMap {
      case l: LogicalPlan if l.children.length == 2 => l.children.map(_.stats.sizeInBytes)
      case _ => Nil
    }
    if (sizes.length < 2) BuildRight
    else {
      val Seq(left, right) = sizes
      join.joinType match {
        case LeftSemi | LeftAnti | ExistenceJoin(_) => BuildRight
        case LeftOuter => if (left * OuterFactor < right) BuildLeft else BuildRight
        case RightOuter => if (right * OuterFactor < left) BuildRight else BuildLeft
        case _ => if (left < right) BuildLeft else BuildRight
      }
    }
  }
}
