package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.{ExistenceJoin, LeftAnti, LeftSemi}
import org.apache.spark.sql.execution.joins.{BaseJoinExec, HashJoin}

/** The common part of the rules of joins. */
trait JoinRule[T <: BaseJoinExec] extends OperatorRule[T] {
  override def keys(op: T): Seq[Expression] = op match {
    case join: HashJoin => join.leftKeys ++ join.rightKeys
    case _ => Nil
  }

  /** Several matches of a row come in the order of the engine's table. */
  override def movesRows(op: T): Boolean = op.joinType match {
    case LeftSemi | LeftAnti | ExistenceJoin(_) => false
    case _ => true
  }

  override def isHeavy(op: T): Boolean = true
}
