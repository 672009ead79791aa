package org.apache.spark.sql.pysparkpipeline

import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.sql.catalyst.expressions.{And, AttributeSet, Expression, IsNotNull, PredicateHelper}
import org.apache.spark.sql.execution.FilterExec

object FilterRule extends OperatorRule[FilterExec] with PredicateHelper {
  override def isRowwise(op: FilterExec): Boolean = !NondeterministicCalls.in(op.condition)

  override def reason(op: FilterExec, support: Support): Option[String] =
    if (!NondeterministicCalls.in(op.condition)) super.reason(op, support)
    else lastConjunct(op) match {
      case Some((_, last)) => NondeterministicCalls.reason(op, Seq(last), support).orElse(super.reason(op, support))
      case None => Some("random numbers before the last conjunct of a filter are not supported")
    }

  override def expressions(op: FilterExec): Seq[Expression] = NondeterministicCalls.extract(Seq(op.condition))._1

  /**
   * Return the conjuncts before the only one with nondeterministic calls, and that one, which Spark evaluates for the rows that pass
   * the others; None if it may evaluate others later: with generated code a check for NULL precedes the first conjunct
   * that reads the column, or comes last.
   */
  private def lastConjunct(op: FilterExec): Option[(Seq[Expression], Expression)] = {
    val conjuncts = splitConjunctivePredicates(op.condition)
    val (before, last) = (conjuncts.init, conjuncts.last)
    val isLast = before.forall(e => e.deterministic && !NondeterministicCalls.in(e)) && !last.isInstanceOf[IsNotNull]
    if (isLast && checksAreReadBy(before)) Some((before, last)) else None
  }

  /** Return whether each check for NULL among `conjuncts` is for columns that another of them reads. */
  private def checksAreReadBy(conjuncts: Seq[Expression]): Boolean = {
    val (notNull, others) = conjuncts.partition(_.isInstanceOf[IsNotNull])
    val read = AttributeSet(others.flatMap(_.references))
    notNull.forall(_.references.subsetOf(read))
  }

  override def kind(op: FilterExec): NodeKind =
    if (NondeterministicCalls.in(op.condition)) NodeKind.PartitionDependent else NodeKind.Operator

  override def describe(op: FilterExec, node: ObjectNode, plan: PlanJson): Unit =
    lastConjunct(op).filter(_ => NondeterministicCalls.in(op.condition)) match {
      case None => super.describe(op, node, plan)
      case Some((before, last)) =>
        val (condition, calls) = NondeterministicCalls.extract(Seq(last))
        node.set[ObjectNode]("before", before.reduceOption(And).map(plan.expressions.write).getOrElse(Json.nodes.nullNode()))
        node.set[ObjectNode]("calls", NondeterministicCalls.write(calls, plan))
        node.set[ObjectNode]("condition", plan.expressions.write(condition.head))
    }

  /**
   * Split off the conjuncts before the first unsupported one, so that fewer rows leave the engine. A later conjunct that
   * is not deterministic must see the same rows as without the split.
   */
  override def split(op: FilterExec, support: Support): Option[FilterExec] = {
    val (notNull, others) = splitConjunctivePredicates(op.condition).partition(_.isInstanceOf[IsNotNull])
    val (first, rest) = others.span(e => e.deterministic && support.reason(e).isEmpty)
    if (first.isEmpty || rest.isEmpty || !rest.forall(_.deterministic) && !checksAreReadBy(notNull ++ first)) None
    else {
      val (early, late) = notNull.partition(support.reason(_).isEmpty)
      val lower = op.copy(condition = (early ++ first).reduce(And))
      lower.copyTagsFrom(op)
      val upper = FilterExec((late ++ rest).reduce(And), lower)
      LogicalLinks.insertAbove(upper, lower)
      Placement.markSplit(upper, lower)
      Some(upper)
    }
  }
}
