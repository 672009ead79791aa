package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight, BuildSide}
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.adaptive.LogicalQueryStage
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._

/** Semi joins that drop early what a join above would drop late. */
object SemiJoins extends PredicateHelper {

  private val Reduction = "join.reduction"
  private val LargeFactor = 8

  /** Attributes of the side that is reduced, each with the one of the other side that it must equal. */
  type Keys = Seq[(Attribute, Attribute)]

  /** Whether rows of `side` whose keys the other side has not are of no account. */
  def drops(kind: JoinType, side: BuildSide): Boolean = (kind, side) match {
    case (_: InnerLike | LeftSemi, _) => true
    case (LeftOuter | LeftAnti | ExistenceJoin(_), BuildRight) | (RightOuter, BuildLeft) => true
    case _ => false
  }

  /** The sides of which each row of the join has one row: what is not in the side is not in the join. */
  def kept(kind: JoinType): Seq[BuildSide] = kind match {
    case _: InnerLike => Seq(BuildLeft, BuildRight)
    case LeftOuter | LeftSemi | LeftAnti | ExistenceJoin(_) => Seq(BuildLeft)
    case RightOuter => Seq(BuildRight)
    case _ => Nil
  }

  def sideOf(join: Join, side: BuildSide): LogicalPlan = if (side == BuildLeft) join.left else join.right

  /** The pairs of keys that are columns whose equal values are the same bits, so that none needs normalization. */
  def plain(leftKeys: Seq[Expression], rightKeys: Seq[Expression]): Keys = leftKeys.zip(rightKeys).collect {
    case (l: Attribute, r: Attribute) if l.dataType == r.dataType && isExact(l.dataType) => l -> r
  }

  /** `plan` with only those rows whose keys `other` has; `other` is broadcast. */
  def semiJoin(plan: LogicalPlan, keys: Keys, other: LogicalPlan): Join = {
    val wanted = keys.map(_._2).distinct
    val right = if (other.output == wanted) other else Project(wanted, other)
    val condition = keys.map { case (l, r) => EqualTo(l, r): Expression }.reduce(And)
    Join(plan, right, LeftSemi, Some(condition), JoinHint(None, Some(HintInfo(strategy = Some(BROADCAST)))))
  }

  def isOn(conf: SQLConf): Boolean = Settings.text(conf, Reduction) != "never" && BroadcastStrategy.isOn(conf)

  /** Whether rows are dropped early whatever the sizes. */
  def isForced(conf: SQLConf): Boolean = Settings.text(conf, Reduction) == "always"

  /** Whether a scan of so many bytes is worth being compared with so many bytes of keys. */
  def isWorth(scanBytes: BigInt, keyBytes: BigInt): Boolean = scanBytes >= keyBytes * LargeFactor

  /** Whether `join` looks like one that [[semiJoin]] made. */
  def isReduction(join: Join): Boolean =
    join.joinType == LeftSemi && join.hint.rightHint.exists(_.strategy.contains(BROADCAST))

  private def isReduction(join: Join, keys: Keys): Boolean = isReduction(join) && (join match {
    case ExtractEquiJoinKeys(_, leftKeys, _, _, _, _, _, _) =>
      AttributeSet(leftKeys) == AttributeSet(keys.map(_._1))
    case _ => false
  })

  /** The attribute below a projection that `attribute` is, unchanged. */
  def below(list: Seq[NamedExpression], attribute: Attribute): Option[Attribute] = list.collectFirst {
    case a: Attribute if a.exprId == attribute.exprId => a
    case alias @ Alias(child: Attribute, _) if alias.exprId == attribute.exprId => child
  }

  /** Whether a filter drops more than NULLs. */
  def isSelective(condition: Expression): Boolean =
    splitConjunctivePredicates(condition).exists(!_.isInstanceOf[IsNotNull])

  /** Whether a join drops rows of its sides. */
  def isSelective(kind: JoinType): Boolean = kind.isInstanceOf[InnerLike] || kind == LeftSemi

  /** Whether `plan` only filters and projects what files hold. */
  def isScan(plan: LogicalPlan): Boolean = plan match {
    case p: Project => p.deterministic && isScan(p.child)
    case f: Filter => f.deterministic && !SubqueryExpression.hasSubquery(f.condition) && isScan(f.child)
    case _: LogicalRelation => true
    case _ => false
  }

  private def isExact(dataType: DataType): Boolean = dataType match {
    case _: IntegralType | _: DecimalType | DateType | TimestampType | TimestampNTZType | BinaryType => true
    case s: StringType => s.supportsBinaryEquality
    case _ => false
  }

  /**
   * Finds the scan whose columns the keys are, and replaces it by what `put` makes of it. `put` learns whether what
   * the scan gives is shuffled on its way up: whether an aggregation lies there, or a join for which `shuffles`.
   */
  class Pushdown(shuffles: Join => Boolean, put: (LogicalPlan, Keys, Boolean) => Option[LogicalPlan]) {

    def apply(plan: LogicalPlan, keys: Keys, isShuffled: Boolean): Option[LogicalPlan] = plan match {
      case _ if keys.isEmpty => None
      // What waits is tied to the stage it waits for.
      case waiting: LogicalQueryStage if SemiJoinReduction.isWaiting(waiting) =>
        apply(waiting.logicalPlan, keys, isShuffled)
      case _ if isScan(plan) => put(plan, keys, isShuffled)
      case p: Project if p.deterministic =>
        val under = keys.flatMap { case (l, r) => below(p.projectList, l).map(_ -> r) }
        apply(p.child, under, isShuffled).map(c => p.withNewChildren(Seq(c)))
      case f: Filter if SubqueryExpression.hasSubquery(f.condition) && f.deterministic => filtered(f, keys)
      case f: Filter if f.deterministic => apply(f.child, keys, isShuffled).map(c => f.withNewChildren(Seq(c)))
      case a: Aggregate if a.deterministic =>
        val groups = AttributeSet(a.groupingExpressions.collect { case k: Attribute => k })
        val under = keys.flatMap { case (l, r) => below(a.aggregateExpressions, l).filter(groups.contains).map(_ -> r) }
        apply(a.child, under, isShuffled = true).map(c => a.withNewChildren(Seq(c)))
      case j: Join if !isReduction(j, keys) => kept(j.joinType).flatMap(joined(j, _, keys, isShuffled)).headOption
      case _ => None
    }

    private def joined(join: Join, side: BuildSide, keys: Keys, isShuffled: Boolean): Option[LogicalPlan] = {
      val child = sideOf(join, side)
      val under = keys.filter { case (l, _) => child.outputSet.contains(l) }
      apply(child, under, isShuffled || (!isReduction(join) && shuffles(join))).map { c =>
        join.withNewChildren(if (side == BuildLeft) Seq(c, join.right) else Seq(join.left, c))
      }
    }

    /** Subqueries of a filter become joins later: what needs none of them goes below. */
    private def filtered(filter: Filter, keys: Keys): Option[LogicalPlan] = {
      val (subqueries, others) =
        splitConjunctivePredicates(filter.condition).partition(SubqueryExpression.hasSubquery)
      val rest = others.reduceOption(And).map(Filter(_, filter.child)).getOrElse(filter.child)
      apply(rest, keys, isShuffled = true).map(Filter(subqueries.reduce(And), _))
    }
  }
}
