package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, EmptyBlock, ExprCode, FalseLiteral, TrueLiteral}
import org.apache.spark.sql.catalyst.plans.Inner
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern.PLAN_EXPRESSION
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.types._

/**
 * Computes global aggregations of the same rows, but for filters of the same columns, in one pass (optimizer): each reads
 * the rows that any of the filters keeps and has the functions of all, each with its filter, and projects its own. Spark
 * then reuses the exchange, or runs scalar subqueries as one.
 *
 * Only what cannot raise is evaluated for more rows than before.
 */
object FilteredTotals extends Rule[LogicalPlan] {
  import GlobalAggregations.{functionsOf, inLongs}

  /** So many aggregations are merged at most: each tests all rows. */
  private val MostTotals = 16

  override def apply(plan: LogicalPlan): LogicalPlan = {
    val totals = plan.collectWithSubqueries { case a: Aggregate if isCandidate(a) => a }
    // Options are read only where they matter: a command with an invalid option must run.
    if (totals.length < 2 || !SharedAggregations.canReuse(conf)) plan
    else {
      val ofPlan = plan.collect { case a: Aggregate => a }
      val (outside, inside) = totals.partition(total => ofPlan.exists(_ eq total))
      val changed = merged(inside, areInSubqueries = true) ++ merged(outside.filter(cannotRaise), areInSubqueries = false)
      if (changed.isEmpty) plan
      else plan.transformWithSubqueries {
        case a: Aggregate => changed.collectFirst { case (total, instead) if total eq a => instead }.getOrElse(a)
      }
    }
  }

  private def isCandidate(a: Aggregate): Boolean =
    a.groupingExpressions.isEmpty && a.deterministic && !a.isStreaming && BroadcastStrategy.isForEngine(a) &&
      !a.exists(_.containsPattern(PLAN_EXPRESSION)) && a.collectLeaves().forall(readsAllFiles) && functionsOf(a).nonEmpty &&
      functionsOf(a).forall(f => !f.isDistinct && f.filter.isEmpty) && hasSameValues(a)

  /** Return whether Spark reads the same partitions of a scan whatever its filters. */
  private def readsAllFiles(scan: LogicalPlan): Boolean = scan match {
    case LogicalRelation(files: HadoopFsRelation, _, _, _, _) => files.partitionSchema.isEmpty && files.bucketSpec.isEmpty
    case _ => false
  }

  /** Return whether the functions are the same in the order in which joins of more rows return the rows. */
  private def hasSameValues(a: Aggregate): Boolean =
    !a.exists(_.isInstanceOf[Join]) || functionsOf(inLongs(a)).forall(f => JoinedSplits.isSameInParts(f.aggregateFunction))

  /** Return whether `a` raises nothing but errors of files. Spark reports another error where a shared exchange fails. */
  private def cannotRaise(a: Aggregate): Boolean =
    a.child.collect { case p => p.expressions }.flatten.forall(MergedRows.cannotRaise) &&
      functionsOf(inLongs(a)).map(_.aggregateFunction).forall {
        case f: Sum => cannotOverflow(f.child)
        case f: Average => cannotOverflow(f.child)
        case f @ (_: Count | _: Min | _: Max) => f.children.forall(MergedRows.cannotRaise)
        case _ => false
      }

  /** Return whether a sum of up to 10^10 values that cannot raise does not overflow. */
  private def cannotOverflow(value: Expression): Boolean = value match {
    case UnscaledValue(decimal) => MergedRows.cannotRaise(decimal)
    case _ => MergedRows.cannotRaise(value) && (value.dataType match {
      case ByteType | ShortType | IntegerType | FloatType | DoubleType => true
      case d: DecimalType => d.precision + 10 <= DecimalType.MAX_PRECISION
      case _ => false
    })
  }

  /** Return those of `totals` that are merged, each with what replaces it. */
  private def merged(totals: Seq[Aggregate], areInSubqueries: Boolean): Seq[(Aggregate, LogicalPlan)] =
    totals.foldLeft(Vector.empty[Seq[Aggregate]]) { (groups, total) =>
      groups.indexWhere(group => group.length < MostTotals && canMerge(group :+ total)) match {
        case -1 => groups :+ Seq(total)
        case place => groups.updated(place, groups(place) :+ total)
      }
    }.filter(differ).flatMap { group =>
      group.indices.map(place => group(place) -> projected(group, place, areInSubqueries))
    }

  private def canMerge(group: Seq[Aggregate]): Boolean = MergedRows.of(group.map(_.child), 0).isDefined

  /** Return whether the filters differ; Spark merges the others itself. */
  private def differ(group: Seq[Aggregate]): Boolean =
    MergedRows.of(group.map(_.child), 0).exists(rows => group.indices.exists(rows.condition(_).nonEmpty))

  /**
   * Return the results of the total at `place` as a projection of an aggregation with the functions of all. The optimizer
   * has finished with subqueries; of another plan it would drop the functions that are not projected.
   */
  private def projected(group: Seq[Aggregate], place: Int, isInSubquery: Boolean): LogicalPlan = {
    val rows = MergedRows.of(group.map(_.child), place).get
    val functions = group.map(inLongs).zipWithIndex.flatMap { case (total, of) => functionsOf(total).map { f =>
      (of, f.canonicalized) -> rows.mapped(f, of).asInstanceOf[AggregateExpression].copy(filter = rows.condition(of))
    } }
    val computed = functions.map(_._2).distinctBy(_.canonicalized).zipWithIndex.map {
      case (function, number) => Alias(function, s"total $number")()
    }
    val values = functions.map { case (of, f) =>
      of -> computed.find(_.child.canonicalized == f.canonicalized).get.toAttribute
    }.toMap
    val results = inLongs(group(place)).aggregateExpressions.map(_.transformUp {
      case f: AggregateExpression => values(place -> f.canonicalized)
    }.asInstanceOf[NamedExpression])
    val all = Aggregate(Nil, computed, rows.plan)
    Project(results, if (isInSubquery) all else Filter(WithAllColumns(all.output), all))
  }
}

/** The condition, always true, of a filter that needs all columns of its child; the optimizer does not look into it. */
case class WithAllColumns(children: Seq[Expression]) extends Predicate {
  override lazy val deterministic: Boolean = false
  override def nullable: Boolean = false
  override def eval(input: InternalRow): Any = true
  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode =
    ev.copy(code = EmptyBlock, isNull = FalseLiteral, value = TrueLiteral)
  override protected def withNewChildrenInternal(newChildren: IndexedSeq[Expression]): WithAllColumns = copy(newChildren)
}

object FilteredTotalStrategy extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case Filter(_: WithAllColumns, child) => Seq(planLater(child))
    case _ => Nil
  }
}

/**
 * The rows of several plans: `plan` returns those of all. `columns` are the columns of each plan, each with that of `plan`,
 * and `rest` the conditions, which cannot raise, by which its rows are found.
 */
private class MergedRows(
    val plan: LogicalPlan, private val columns: Seq[AttributeMap[Attribute]], private val rest: Seq[Seq[Expression]]) {

  /** Return `e` with columns of `plan` instead of those of the plan at `place`. */
  def mapped(e: Expression, place: Int): Expression = SameRows.mapped(e, columns(place)).get

  /** Return the condition by which the rows of the plan at `place` are found; none if that has all. */
  def condition(place: Int): Option[Expression] = rest(place).reduceOption(And)

  private def areAll: Boolean = rest.forall(_.isEmpty)

  private def projected(lists: Seq[Seq[NamedExpression]]): Option[MergedRows] = {
    val values = lists.zipWithIndex.map { case (list, place) => list.map { column =>
      column -> mapped(SameRows.valueOf(column), place)
    } }
    val computed = values.flatten.filterNot(_._2.isInstanceOf[Attribute]).distinctBy(_._2.canonicalized).map {
      case (column, value) => Alias(value, column.name)()
    }
    val areInAll = computed.forall { alias =>
      values.forall(_.exists(_._2.semanticEquals(alias.child))) || MergedRows.cannotRaise(alias.child)
    }
    val used = AttributeSet(values.flatten.map(_._2).collect { case a: Attribute => a } ++ rest.flatten.flatMap(_.references))
    val made = values.map(list => AttributeMap(list.map { case (column, value) =>
      column.toAttribute -> computed.find(_.child.semanticEquals(value)).map(_.toAttribute)
        .getOrElse(value.asInstanceOf[Attribute])
    }))
    if (areInAll) Some(new MergedRows(Project(plan.output.filter(used.contains) ++ computed, plan), made, rest)) else None
  }

  private def filtered(conditions: Seq[Seq[Expression]]): Option[MergedRows] = {
    val mine = conditions.zipWithIndex.map { case (list, place) => list.map(mapped(_, place)) }
    def isInAll(condition: Expression): Boolean = mine.forall(_.exists(_.semanticEquals(condition)))
    val (common, others) = (mine.head.filter(isInAll), mine.map(_.filterNot(isInAll)))
    val all = rest.zip(others).map { case (below, here) => below ++ here }
    val areOfSameColumns = others.map(AttributeSet(_)).distinct.length == 1
    val canRaise = !(common ++ others.flatten).forall(MergedRows.cannotRaise)
    if (!areOfSameColumns || (canRaise && all.exists(_.nonEmpty))) None
    else {
      val any = if (others.forall(_.isEmpty)) Nil else Seq(others.map(_.reduce(And)).reduce(Or))
      Some(new MergedRows((common ++ any).reduceOption(And).map(Filter(_, plan)).getOrElse(plan), columns, all))
    }
  }

  private def joined(right: MergedRows, joins: Seq[Join], place: Int): Option[MergedRows] = {
    val both = columns.zip(right.columns).map { case (mine, others) => mine ++ others }
    val conditions = joins.zip(both).map { case (join, known) => join.condition.map(SameRows.mapped(_, known).get) }
    val isSame = conditions.tail.forall(c => c.size == conditions.head.size && c.zip(conditions.head).forall {
      case (one, other) => one.semanticEquals(other)
    })
    val canJoin = (areAll && right.areAll) || conditions.head.forall(MergedRows.cannotRaise)
    if (!isSame || !canJoin || !(areAll || right.areAll)) None
    else {
      val join = joins(place).copy(left = plan, right = right.plan, condition = conditions.head)
      Some(new MergedRows(join, both, rest.zip(right.rest).map { case (mine, others) => mine ++ others }))
    }
  }
}

private object MergedRows extends PredicateHelper {

  /**
   * Merge plans of scans, filters, projections and inner joins that differ in filters, of which one is below each join.
   * The merged plan has the columns of the one at `place`.
   */
  def of(plans: Seq[LogicalPlan], place: Int): Option[MergedRows] =
    if (plans.exists(_.isInstanceOf[Project])) {
      val (lists, children) = plans.map {
        case Project(list, child) => (list, child)
        case other => (other.output, other)
      }.unzip
      of(children, place).flatMap(_.projected(lists))
    } else if (plans.exists(_.isInstanceOf[Filter])) {
      val (conditions, children) = plans.map {
        case Filter(condition, child) => (splitConjunctivePredicates(condition), child)
        case other => (Nil, other)
      }.unzip
      of(children, place).flatMap(_.filtered(conditions))
    } else plans(place) match {
      case first: Join =>
        val joins = plans.collect { case j @ Join(_, _, Inner, _, first.hint) => j }
        if (joins.length < plans.length) None
        else for {
          left <- of(joins.map(_.left), place)
          right <- of(joins.map(_.right), place)
          merged <- left.joined(right, joins, place)
        } yield merged
      case scan: LogicalRelation if plans.forall(scan.sameResult) =>
        Some(new MergedRows(scan, plans.map(p => AttributeMap(p.output.zip(scan.output))), plans.map(_ => Nil)))
      case _ => None
    }

  def cannotRaise(e: Expression): Boolean = e.children.forall(cannotRaise) && (e match {
    case _: Attribute | _: Literal | _: And | _: Or | _: Not | _: IsNull | _: IsNotNull => true
    case _: BinaryComparison | _: In | _: InSet | _: StringPredicate => true
    case Cast(child, to, _, _) => Cast.canUpCast(child.dataType, to)
    case _ => false
  })
}
