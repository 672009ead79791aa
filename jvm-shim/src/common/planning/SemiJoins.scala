package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight, BuildSide}
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.datasources.LogicalRelation

/** Builds semi joins that drop rows earlier than a join above would. */
object SemiJoins extends PredicateHelper {

  /** Attributes of the reduced side, each with the attribute of the other side that it must equal. */
  type Keys = Seq[(Attribute, Attribute)]

  /** Return whether the join drops, or may drop, rows of `side` whose keys the other side lacks. */
  def drops(kind: JoinType, side: BuildSide): Boolean = (kind, side) match {
    case (_: InnerLike | LeftSemi, _) => true
    case (LeftOuter | LeftAnti | ExistenceJoin(_), BuildRight) | (RightOuter, BuildLeft) => true
    case _ => false
  }

  /** Return the sides from which each row of the join takes one row: a row absent from the side is absent from the join. */
  def preservedSides(kind: JoinType): Seq[BuildSide] = kind match {
    case _: InnerLike => Seq(BuildLeft, BuildRight)
    case LeftOuter | LeftSemi | LeftAnti | ExistenceJoin(_) => Seq(BuildLeft)
    case RightOuter => Seq(BuildRight)
    case _ => Nil
  }

  def sideOf(join: Join, side: BuildSide): LogicalPlan = if (side == BuildLeft) join.left else join.right

  /** Return the pairs of keys that are columns whose equal values have equal bits, so that they need no normalization. */
  def comparableKeys(leftKeys: Seq[Expression], rightKeys: Seq[Expression]): Keys = leftKeys.zip(rightKeys).collect {
    case (l: Attribute, r: Attribute) if l.dataType == r.dataType && ExactTypes.containFlat(l.dataType) => l -> r
  }

  /** Return `plan` reduced, by `decision`, to the rows whose keys `other` contains; `other` is broadcast. */
  def semiJoin(plan: LogicalPlan, keys: Keys, other: LogicalPlan, decision: Decision[Boolean]): Join = {
    val right = keyColumns(other, keys)
    val condition = keys.map { case (l, r) => EqualTo(l, r): Expression }.reduce(And)
    val join = Join(plan, right, LeftSemi, Some(condition), JoinHint(None, Some(HintInfo(strategy = Some(BROADCAST)))))
    Decisions.set(join, Some(decision))
    join
  }

  /**
   * Return the key columns of `other`, which [[semiJoin]] broadcasts; `other` itself if it has no others, so that a join
   * that broadcasts it, too, uses the same broadcast.
   */
  def keyColumns(other: LogicalPlan, keys: Keys): LogicalPlan = {
    val columns = keys.map(_._2).distinctBy(_.exprId)
    if (other.output.map(_.exprId) == columns.map(_.exprId)) other else Project(columns, other)
  }

  /** Return whether [[semiJoin]] may have built `join`. */
  def isReduction(join: Join): Boolean =
    join.joinType == LeftSemi && join.hint.rightHint.exists(_.strategy.contains(BROADCAST))

  /** Return whether [[semiJoin]] may have built `join` with `keys`. */
  def isReduction(join: Join, keys: Keys): Boolean = isReduction(join) && (join match {
    case ExtractEquiJoinKeys(_, leftKeys, _, _, _, _, _, _) =>
      AttributeSet(leftKeys) == AttributeSet(keys.map(_._1))
    case _ => false
  })

  /** Return the attribute below a projection that `attribute` passes on unchanged. */
  def attributeBelow(list: Seq[NamedExpression], attribute: Attribute): Option[Attribute] = list.collectFirst {
    case a: Attribute if a.exprId == attribute.exprId => a
    case alias @ Alias(child: Attribute, _) if alias.exprId == attribute.exprId => child
  }

  /** Return whether a filter drops more than NULLs. */
  def isSelective(condition: Expression): Boolean =
    splitConjunctivePredicates(condition).exists(!_.isInstanceOf[IsNotNull])

  /** Return whether a join drops rows of its sides. */
  def isSelective(kind: JoinType): Boolean = kind.isInstanceOf[InnerLike] || kind == LeftSemi

  /** Return whether `plan` only filters and projects files. */
  def isScan(plan: LogicalPlan): Boolean = plan match {
    case p: Project => p.deterministic && isScan(p.child)
    case f: Filter => f.deterministic && !SubqueryExpression.hasSubquery(f.condition) && isScan(f.child)
    case _: LogicalRelation => true
    case _ => false
  }
}
