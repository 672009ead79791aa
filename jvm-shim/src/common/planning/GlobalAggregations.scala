package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.optimizer.DecimalAggregates
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern.PLAN_EXPRESSION
import org.apache.spark.sql.types._

/**
 * Computes a global aggregation of a scalar subquery from the groups of another aggregation of the query, if both read
 * the same rows and the groups have its functions (optimizer). Below the groups the subquery then has the plan of the
 * other aggregation, and Spark reuses its exchange: joins and scans run once.
 *
 * The subquery evaluates no expression that it did not evaluate before, so no error can arise that would not have.
 */
object GlobalAggregations extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan = {
    val totals = scalarSubqueries(plan).flatMap(_.collect { case a: Aggregate if isTotal(a) => a })
    val groups = if (totals.isEmpty) Nil else plan.collectWithSubqueries { case a: Aggregate if isGrouped(a) => a }
    // Options are read only where they matter: a command with an invalid option must run.
    if (groups.isEmpty || !SharedAggregations.canReuse(conf)) plan
    else {
      val isWorthwhile = !new CostModel(conf).isOn || (_: Aggregate).exists(_.isInstanceOf[Join])
      val changed = totals.filter(isWorthwhile).flatMap { total =>
        groups.to(LazyList).flatMap(fromGroups(total, _)).headOption.map(total -> _)
      }
      if (changed.isEmpty) plan
      else plan.transformWithSubqueries {
        case a: Aggregate => changed.collectFirst { case (total, rewritten) if total eq a => rewritten }.getOrElse(a)
      }
    }
  }

  private def scalarSubqueries(plan: LogicalPlan): Seq[LogicalPlan] =
    plan.collectWithSubqueries { case p if p.containsPattern(PLAN_EXPRESSION) => p.expressions.flatMap(_.collect {
      case s: ScalarSubquery if !s.isCorrelated => s.plan
    }) }.flatten

  private def isTotal(a: Aggregate): Boolean = a.groupingExpressions.isEmpty && isCandidate(a)

  private def isGrouped(a: Aggregate): Boolean =
    a.groupingExpressions.nonEmpty && a.groupingExpressions.forall(_.isInstanceOf[Attribute]) && isCandidate(a)

  private def isCandidate(a: Aggregate): Boolean =
    a.deterministic && !a.isStreaming && BroadcastStrategy.isForEngine(a) &&
      !a.child.containsPattern(PLAN_EXPRESSION) && functionsOf(a).nonEmpty &&
      functionsOf(a).forall(f => !f.isDistinct && f.filter.isEmpty && !f.containsPattern(PLAN_EXPRESSION))

  /** Return the functions of an aggregation, equal ones once. */
  def functionsOf(a: Aggregate): Seq[AggregateExpression] =
    a.aggregateExpressions.flatMap(_.collect { case f: AggregateExpression => f }).distinctBy(_.canonicalized)

  /** Return `total` computed from the groups of `other`, if that gives the same values. */
  private def fromGroups(total: Aggregate, other: Aggregate): Option[Aggregate] =
    SameRows.columns(total.child, other.child).flatMap { columns =>
      val groups = groupsOf(other)
      val values = functionsOf(groups).zip(groups.output)
      val totals = functionsOf(total).map { f =>
        f.canonicalized -> SameRows.mapped(f.aggregateFunction, columns).flatMap(valueOf(_, values)).flatMap {
          case (function, value) => totalOf(function, value)
        }
      }.toMap
      val used = totals.values.flatten.map(_.references).reduceOption(_ ++ _).getOrElse(AttributeSet.empty)
      val canFail = values.exists { case (f, value) =>
        !used.contains(value) && !neverFails(f.aggregateFunction, value)
      }
      if (canFail || !totals.values.forall(_.isDefined)) None
      else Some(total.copy(
        aggregateExpressions = total.aggregateExpressions.map(_.transformUp {
          case f: AggregateExpression => totals(f.canonicalized).get
        }.asInstanceOf[NamedExpression]),
        child = groups))
    }

  /** Return an aggregation that adds decimals as the optimizer lets it: short ones as unscaled integers. */
  def inLongs(a: Aggregate): Aggregate = DecimalAggregates(a).asInstanceOf[Aggregate]

  /**
   * Return the groups of `a`, with its functions in their order: these determine what the exchange below transfers. The
   * optimizer has finished with the subquery, so it prunes none of them, nor does it apply `DecimalAggregates` anymore.
   */
  private def groupsOf(a: Aggregate): Aggregate = {
    val late = inLongs(a)
    late.copy(aggregateExpressions = functionsOf(late).map(f => Alias(f, "group")()))
  }

  private def valueOf(
      function: Expression, values: Seq[(AggregateExpression, Attribute)]): Option[(AggregateFunction, Attribute)] =
    values.collectFirst {
      case (f, value) if f.aggregateFunction.semanticEquals(function) => f.aggregateFunction -> value
    }

  /**
   * Return the value of `function` over all rows, computed from `value`, its values in groups, if it is the same
   * whatever the groups.
   *
   * The sum of decimals of precision p has precision p + 10, so that it overflows only beyond 10^10 rows. The sum of
   * such sums has a larger precision; cast back, it overflows where the sum of the rows does. A sum of integers of 32
   * bits, or of unscaled decimals, overflows 64 bits only beyond 2^32 rows. Whether a sum of 64-bit integers overflows
   * depends on the order of the rows.
   */
  private def totalOf(function: AggregateFunction, value: Attribute): Option[Expression] = function match {
    case _: Count => Some(Coalesce(Seq(new Sum(value).toAggregateExpression(), Literal(0L))))
    case f: Min if ExactTypes.contain(f.dataType) => Some(f.copy(child = value).toAggregateExpression())
    case f: Max if ExactTypes.contain(f.dataType) => Some(f.copy(child = value).toAggregateExpression())
    case f: Sum =>
      lazy val sum = f.copy(child = value).toAggregateExpression()
      (f.child.dataType, f.child) match {
        case (ByteType | ShortType | IntegerType, _) | (_, _: UnscaledValue) => Some(sum)
        case (d: DecimalType, _) if d.precision + 10 <= DecimalType.MAX_PRECISION =>
          Some(Cast(sum, f.dataType, None, f.evalContext.evalMode))
        case _ => None
      }
    case _ => None
  }

  private def neverFails(function: AggregateFunction, value: Attribute): Boolean =
    totalOf(function, value).isDefined && function.children.forall(_.isInstanceOf[LeafExpression])
}

/** Compares plans that differ in the ids and the pruning of their columns. */
private object SameRows {

  /**
   * Return the columns of `plan` that `other` has, each with that of `other`, if both return the same rows and `other`
   * evaluates no expression that `plan` does not.
   */
  def columns(plan: LogicalPlan, other: LogicalPlan): Option[AttributeMap[Attribute]] = ((plan, other) match {
    case (Selection(list, child), _) => columns(child, other).map(below => list.flatMap {
      case (column, source) => below.get(source).map(column -> _)
    })
    case (_, Selection(list, child)) => columns(plan, child).map(_.toSeq.flatMap {
      case (column, below) => list.collectFirst { case (of, source) if source.exprId == below.exprId => column -> of }
    })
    case (p: Project, q: Project) => columns(p.child, q.child).flatMap(projected(p.projectList, q.projectList, _))
    case (Filter(condition, child), Filter(otherCondition, otherChild)) =>
      columns(child, otherChild).filter(isSame(condition, otherCondition, _)).map(_.toSeq)
    case (j: Join, k: Join) if j.joinType == k.joinType && j.hint == k.hint =>
      for {
        left <- columns(j.left, k.left)
        right <- columns(j.right, k.right)
        both = left.toSeq ++ right.toSeq
        if j.condition.size == k.condition.size && j.condition.zip(k.condition).forall {
          case (condition, otherCondition) => isSame(condition, otherCondition, AttributeMap(both))
        }
      } yield both
    case (leaf: LeafNode, otherLeaf: LeafNode) if leaf.sameResult(otherLeaf) => Some(leaf.output.zip(otherLeaf.output))
    case _ => None
  }).map(pairs => AttributeMap(pairs.filter {
    case (column, same) => plan.outputSet.contains(column) && other.outputSet.contains(same)
  }))

  /** Return `e` with columns replaced, if all are in `columns`. */
  def mapped(e: Expression, columns: AttributeMap[Attribute]): Option[Expression] =
    if (e.references.forall(columns.contains)) Some(e.transform { case a: Attribute => columns(a) }) else None

  private def isSame(e: Expression, other: Expression, columns: AttributeMap[Attribute]): Boolean =
    mapped(e, columns).exists(_.semanticEquals(other))

  private def projected(
      list: Seq[NamedExpression],
      otherList: Seq[NamedExpression],
      columns: AttributeMap[Attribute]): Option[Seq[(Attribute, Attribute)]] = {
    val pairs = for {
      column <- list
      other <- otherList.find(other => isSame(valueOf(column), valueOf(other), columns))
    } yield column.toAttribute -> other.toAttribute
    val known = AttributeSet(pairs.map(_._2))
    val isKnown = otherList.forall(other => valueOf(other).isInstanceOf[Attribute] || known.contains(other.toAttribute))
    if (isKnown) Some(pairs) else None
  }

  /** Return what a column of a projection is computed from. */
  def valueOf(column: NamedExpression): Expression = column match {
    case Alias(child, _) => child
    case other => other
  }

  /** A projection that computes nothing: its columns, each with that below. */
  private object Selection {
    def unapply(plan: LogicalPlan): Option[(Seq[(Attribute, Attribute)], LogicalPlan)] = plan match {
      case Project(list, child) =>
        val columns = list.map(column => column.toAttribute -> valueOf(column)).collect {
          case (column, source: Attribute) => column -> source
        }
        if (columns.length == list.length) Some(columns -> child) else None
      case _ => None
    }
  }
}
