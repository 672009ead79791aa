package org.apache.spark.sql.pysparkpipeline

import java.util.IdentityHashMap

import scala.annotation.tailrec

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateExpression, AggregateFunction, TypedImperativeAggregate}
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.types.{BinaryType, StringType}

/** Finds the parts of an operator's expressions that `support` leaves to Spark and that Spark can evaluate for the engine. */
class JvmExpressions(support: Support) {
  import JvmExpressions._

  /** Return why Spark computes a part of the expressions of `plan`, which the engine supports, faster. */
  def slowerReason(plan: SparkPlan): Option[String] =
    if (isHost(plan) && plan.expressions.exists(_.exists(mayBeSlower))) support.every(plan.expressions) else None

  private def mayBeSlower(e: Expression): Boolean = Manifest.slower(FunctionCall.of(e).name)

  /** Return `plan` with the unsupported parts of its expressions as [[JvmExpression]]s; None if there are none. */
  def within(plan: SparkPlan): Option[SparkPlan] =
    if (!isHost(plan) || plan.expressions.exists(depth(_) > MaxLevels)) None
    else {
      val changed = plan.mapExpressions(wrapped)
      if (calls(changed).isEmpty) None else Some(joined(changed))
    }

  /**
   * Return `e` with its smallest unsupported parts wrapped. Variables of a lambda have no columns, and `TryEval` would ask
   * for one row after the other, so these are evaluated as a whole.
   */
  private def wrapped(e: Expression): Expression = e match {
    case _: Attribute => e
    case _ if support.reason(e).isEmpty => e
    case a: AggregateExpression =>
      val inner = a.copy(aggregateFunction = a.aggregateFunction.mapChildren(wrapped).asInstanceOf[AggregateFunction],
        filter = a.filter.map(wrapped))
      if (support.reason(inner).isEmpty) inner else ofFunction(a).map(_.copy(filter = inner.filter)).getOrElse(inner)
    case _: Alias | _: SortOrder | _: Generator => e.mapChildren(wrapped)
    case _: HigherOrderFunction | _: TryEval => if (isEvaluable(e)) JvmExpression(e) else e
    case other =>
      val inner = other.mapChildren(wrapped)
      if ((isOneCondition(inner) || support.argumentReason(inner).nonEmpty) && isEvaluable(other)) JvmExpression(other) else inner
  }

  /** Return `a` with its function as [[JvmAggregate]]; one of distinct values reads them in the order of a hash map. */
  private def ofFunction(a: AggregateExpression): Option[AggregateExpression] = a.aggregateFunction match {
    case f: TypedImperativeAggregate[_] if !a.isDistinct && f.references.nonEmpty && isEvaluable(f) =>
      Some(a.copy(aggregateFunction = JvmAggregate(f)))
    case _ => None
  }

  private def isEvaluable(e: Expression): Boolean =
    e.deterministic && Support.isHeld(e.dataType) && e.references.forall(a => Support.isHeld(a.dataType)) && !e.exists {
      case _: PlanExpression[_] | _: PythonUDF | _: AggregateExpression | _: WindowExpression | _: JvmExpression => true
      case _: VariableReference => true // holds its catalog, which cannot be sent
      case _: LambdaFunction | _: Attribute | _: NamedLambdaVariable => false
      case other => other.isInstanceOf[Unevaluable]
    }
}

object JvmExpressions {

  /** The levels of the deepest expression that is searched. */
  private val MaxLevels = 200

  /** Return the expressions and functions of `plan` that Spark evaluates for the engine. */
  def calls(plan: SparkPlan): Seq[Expression] =
    plan.expressions.flatMap(_.collect { case j @ (_: JvmExpression | _: JvmAggregate) => j })

  /** Return `plan` with the expressions and functions themselves in their place. */
  def without(plan: SparkPlan): SparkPlan =
    if (calls(plan).isEmpty) plan
    else plan.transformExpressions { case j: JvmExpression => j.child; case function: JvmAggregate => function.original }

  /** Return the number of calls that evaluate what Spark evaluates for the engine. */
  def countCalls(plan: SparkPlan): Int = {
    val (shared, alone) = calls(plan).partition { case j: JvmExpression => j.isShared case _ => false }
    shared.collect { case j: JvmExpression => j.together }.distinct.length + alone.distinctBy(_.canonicalized).length
  }

  /** Return whether only the rows that `plan` reads, and not those of another input, are what its expressions read. */
  private def isHost(plan: SparkPlan): Boolean = plan match {
    case _: ProjectExec | _: FilterExec | _: BaseAggregateExec | _: GenerateExec | _: ExpandExec | _: SortExec |
        _: TakeOrderedAndProjectExec => true
    case _ => false
  }

  private def depth(e: Expression): Int = {
    var level = Seq(e)
    var levels = 0
    while (level.nonEmpty && levels <= MaxLevels) {
      level = level.flatMap(_.children)
      levels += 1
    }
    levels
  }

  /**
   * Return `plan` with one call for the expressions that are evaluated for the same rows and read the same columns. One
   * that occurs in two lists keeps its own call, which the lists share.
   */
  private def joined(plan: SparkPlan): SparkPlan = {
    val lists = ofSameRows(plan).map(_.flatMap(ofEachRow(_)))
    val together = new IdentityHashMap[JvmExpression, Seq[Expression]]
    lists.foreach { list =>
      val elsewhere = lists.filterNot(_ eq list).flatten.map(_.canonicalized).toSet
      val own = list.filter(j => j.columns.nonEmpty && !elsewhere(j.canonicalized))
      own.groupBy(_.child.references).values.foreach { group =>
        val expressions = group.map(_.child).distinct
        if (expressions.length > 1) group.foreach(together.put(_, expressions))
      }
    }
    plan.transformExpressions { case j: JvmExpression if together.containsKey(j) => j.copy(together = together.get(j)) }
  }

  /** Return the lists of expressions that `plan` evaluates for the same rows. */
  private def ofSameRows(plan: SparkPlan): Seq[Seq[Expression]] = plan match {
    case p: ProjectExec => Seq(p.projectList)
    case a: BaseAggregateExec => Seq(a.groupingExpressions, a.aggregateExpressions, a.resultExpressions)
    case t: TakeOrderedAndProjectExec => Seq(t.sortOrder, t.projectList)
    case s: SortExec => Seq(s.sortOrder)
    case _ => Nil
  }

  /** Return the expression at the end of a chain of single arguments: it is evaluated for each row that the chain is. */
  @tailrec private def ofEachRow(e: Expression): Option[JvmExpression] = e match {
    case j: JvmExpression => Some(j)
    case other => other.children match {
      case Seq(child) => ofEachRow(child)
      case _ => None
    }
  }

  /** Return whether `e` joins two conditions that Spark evaluates. One over a text is cheaper alone, for distinct texts. */
  private def isOneCondition(e: Expression): Boolean = e match {
    case And(left: JvmExpression, right: JvmExpression) => !isOfText(left) && !isOfText(right)
    case Or(left: JvmExpression, right: JvmExpression) => !isOfText(left) && !isOfText(right)
    case _ => false
  }

  private def isOfText(j: JvmExpression): Boolean = j.columns match {
    case Seq(column) => column.dataType == BinaryType || column.dataType.isInstanceOf[StringType]
    case _ => false
  }
}
