package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight, BuildSide}
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.execution.joins.{BroadcastNestedLoopJoinExec, CartesianProductExec}

object NestedLoopJoinRule extends JoinRule[BroadcastNestedLoopJoinExec] {

  override def limitation(op: BroadcastNestedLoopJoinExec): Option[String] = super.limitation(op).orElse(
    if (seesAllMatches(op.joinType, op.buildSide)) None
    else Some(s"a nested loop join of kind ${op.joinType.sql} needs all rows of both sides in one place"))

  /** Return whether the output of each instance is independent of the broadcast rows that others matched. */
  private def seesAllMatches(kind: JoinType, side: BuildSide): Boolean = (kind, side) match {
    case (_: InnerLike, _) | (LeftOuter | LeftSemi | LeftAnti | ExistenceJoin(_), BuildRight) |
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
