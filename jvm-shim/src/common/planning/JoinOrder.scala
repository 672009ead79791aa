package org.apache.spark.sql.pysparkpipeline

import scala.annotation.tailrec

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.Inner
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule

/**
 * Joins a wide table last whose key the query groups by (optimizer). Spark joins tables in the order of the text, so that
 * the columns of `customer` in `customer JOIN orders JOIN lineitem GROUP BY c_custkey, c_name, …` are shuffled three times:
 * to join orders, to join lineitem by the key of the order, and to group. Joined last they are shuffled once, and
 * the rows are then where they are grouped.
 *
 * It moves only tables that are read whole, so that their join drops few rows, and inner joins of columns, which cannot fail.
 */
object JoinOrder extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan = {
    lazy val model = new CostModel(conf)
    // Options are read only where they matter: a command with an invalid option must run.
    if (!plan.exists(isCandidate) || (conf.cboEnabled && conf.joinReorderEnabled) || !model.canOrder) plan
    else plan.transformUp { case a: Aggregate if isCandidate(a) => reordered(a, model).fold(a)(below => a.copy(child = below)) }
  }

  private def isCandidate(plan: LogicalPlan): Boolean = plan match {
    case a: Aggregate => a.groupingExpressions.nonEmpty && !a.isStreaming && joinsBelow(a).exists(_.items.length > 2)
    case _ => false
  }

  private def joinsBelow(aggregate: Aggregate): Option[Joins] = aggregate.child match {
    case p: Project if p.deterministic => Joins.of(p.child)
    case other => Joins.of(other)
  }

  /** Return the input of `aggregate` with a wide table joined later; None if there is none. */
  private def reordered(aggregate: Aggregate, model: CostModel): Option[LogicalPlan] =
    if (!BroadcastStrategy.isForEngine(aggregate)) None
    else {
      val joins = joinsBelow(aggregate).get
      val keys = aggregate.groupingExpressions.collect { case key: Attribute => key }
      aggregate.child match {
        case p: Project =>
          val below = keys.flatMap(SemiJoins.attributeBelow(p.projectList, _))
          wideLast(joins, AttributeSet(below), p.references, model).map(joined => p.copy(child = joined))
        case other => wideLast(joins, AttributeSet(keys), other.outputSet, model).map(Project(other.output, _))
      }
    }

  private def wideLast(
      joins: Joins, keys: AttributeSet, needed: AttributeSet, model: CostModel): Option[LogicalPlan] =
    joins.items.to(LazyList).flatMap(new Candidate(_, joins, keys, model).joinedLast(needed)).headOption

  /** The order in which `wide` is joined after a partner and the tables joined to that, and before its other partners. */
  private class Candidate(wide: LogicalPlan, joins: Joins, keys: AttributeSet, model: CostModel) {
    private val others = joins.items.filterNot(_ eq wide)
    private val partners = others.filter(joins.connecting(wide, _).nonEmpty)
    private lazy val before = partners.map(joins.connected(_, others)).maxBy(large(_).length)
    private lazy val after = others.filterNot(item => before.exists(_ eq item))

    private def large(items: Seq[LogicalPlan]): Seq[LogicalPlan] =
      if (model.forcesOrder) items else items.filterNot(model.fits)

    /** Return the joins in that order with the columns in `needed`; None if it saves nothing. */
    def joinedLast(needed: AttributeSet): Option[LogicalPlan] =
      if (!SemiJoins.isScan(wide) || partners.isEmpty || (wide +: after).exists(isFiltered) || !isMovable) None
      else if (!model.forcesOrder && !after.forall(model.fits)) None // grouping would need a shuffle after theirs
      else {
        val width = wide.output.map(_.dataType.defaultSize).sum
        val decision = Policies.joinLast(width, CostModel.tableBytes(wide), model.broadcastLimit, model.forcesOrder)
        if (!decision.choice) None
        else joins.chained(before).flatMap(first => joins.chained(first ++ (wide +: after))).map { order =>
          val joined = joins.inOrder(order, needed)
          joined.foreach {
            case join: Join if join.right eq wide => Decisions.setOrder(join, decision)
            case _ =>
          }
          joined
        }
      }

    /** Whether it is joined to one other table by its grouping key, and before a shuffle by other keys. */
    private def isMovable: Boolean = partners.filter(p => before.exists(_ eq p)) match {
      case Seq(partner) =>
        val shuffled = large(before)
        joins.connecting(wide, partner).forall(isGrouped) && shuffled.length > 1 &&
          joins.items.indexWhere(_ eq wide) < joins.items.lastIndexWhere(item => shuffled.exists(_ eq item)) &&
          !joins.conditions.exists(c => shuffled.count(joins.reads(c, _)) == 2 && isGrouped(c))
      case _ => false
    }

    private def isGrouped(condition: Expression): Boolean = condition.references.exists(keys.contains)
  }

  private def isFiltered(plan: LogicalPlan): Boolean = plan.exists {
    case f: Filter => SemiJoins.isSelective(f.condition)
    case _ => false
  }
}

/** Inner joins of `items`, in this order, by equal columns. */
private class Joins(val items: Seq[LogicalPlan], val conditions: Seq[Expression]) {

  def reads(condition: Expression, item: LogicalPlan): Boolean = condition.references.exists(item.outputSet.contains)

  /** Return the conditions of two items. */
  def connecting(one: LogicalPlan, other: LogicalPlan): Seq[Expression] =
    conditions.filter(c => reads(c, one) && reads(c, other))

  /** Return `first` and the items that are joined to it, directly or by others, if only `among` are joined. */
  def connected(first: LogicalPlan, among: Seq[LogicalPlan]): Seq[LogicalPlan] = {
    @tailrec def grown(found: Seq[LogicalPlan]): Seq[LogicalPlan] = {
      val more = among.filter(item => !found.exists(_ eq item) && found.exists(connecting(_, item).nonEmpty))
      if (more.isEmpty) found else grown(found ++ more)
    }
    val found = grown(Seq(first))
    among.filter(item => found.exists(_ eq item))
  }

  /** Return `some` items in an order in which each is joined to one before it. */
  def chained(some: Seq[LogicalPlan]): Option[Seq[LogicalPlan]] = {
    @tailrec def from(done: Seq[LogicalPlan], left: Seq[LogicalPlan]): Option[Seq[LogicalPlan]] =
      if (left.isEmpty) Some(done)
      else left.find(item => done.exists(connecting(_, item).nonEmpty)) match {
        case Some(next) => from(done :+ next, left.filterNot(_ eq next))
        case None => None
      }
    some.headOption.flatMap(first => from(Seq(first), some.tail))
  }

  /** Return the joins in the order of `items`, with the columns in `needed` and those that joins above read. */
  def inOrder(items: Seq[LogicalPlan], needed: AttributeSet): LogicalPlan = {
    val (joined, _) = items.tail.foldLeft((items.head, conditions)) { case ((plan, rest), item) =>
      val (here, above) = rest.partition(_.references.subsetOf(plan.outputSet ++ item.outputSet))
      val join = Join(plan, item, Inner, here.reduceOption(And), JoinHint.NONE)
      val used = needed ++ AttributeSet(above)
      val kept = join.output.filter(used.contains)
      (if (kept.length < join.output.length) Project(kept, join) else join, above)
    }
    joined
  }
}

private object Joins extends PredicateHelper {

  /** Return the joins of `plan`, a chain of inner joins by equal columns and projections of columns. */
  def of(plan: LogicalPlan): Option[Joins] = plan match {
    case Project(list, child) if list.forall(_.isInstanceOf[Attribute]) => of(child)
    case join @ Join(left, right, Inner, Some(condition), JoinHint.NONE) if !PlacementSensitiveJoins.isSensitive(join) =>
      val conditions = splitConjunctivePredicates(condition)
      val isChain = of(right).isEmpty && conditions.forall {
        case EqualTo(_: Attribute, _: Attribute) => true
        case _ => false
      }
      if (!isChain) None
      else of(left).map(below => new Joins(below.items :+ right, below.conditions ++ conditions))
        .orElse(Some(new Joins(Seq(left, right), conditions)))
    case _ => None
  }
}
