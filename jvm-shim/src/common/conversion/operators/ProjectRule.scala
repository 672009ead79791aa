package org.apache.spark.sql.pysparkpipeline

import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution.{ProjectExec, SparkPlan}

object ProjectRule extends OperatorRule[ProjectExec] {
  override def prepare(op: ProjectExec): SparkPlan = Pivots.merged(op)

  override def isRowwise(op: ProjectExec): Boolean = !NondeterministicCalls.in(op.projectList)

  override def reason(op: ProjectExec, support: Support): Option[String] =
    NondeterministicCalls.reason(op, op.projectList, support).orElse(super.reason(op, support))

  override def expressions(op: ProjectExec): Seq[Expression] =
    Support.withoutCarried(NondeterministicCalls.extract(op.projectList)._1)

  override def kind(op: ProjectExec): NodeKind =
    if (NondeterministicCalls.in(op.projectList)) NodeKind.PartitionDependent else NodeKind.Operator

  override def describe(op: ProjectExec, node: ObjectNode, plan: PlanJson): Unit = {
    val (columns, calls) = NondeterministicCalls.extract(op.projectList)
    super.describe(op.copy(projectList = columns), node, plan)
    if (calls.nonEmpty) node.set[ObjectNode]("calls", NondeterministicCalls.write(calls, plan))
  }

  /**
   * Split off the supported expressions, and supported parts of the others, if no more columns leave the engine: their
   * results replace columns that nothing else reads.
   */
  override def split(op: ProjectExec, support: Support): Option[ProjectExec] = {
    val candidates = op.projectList.flatMap(parts(_, support))
    val others = AttributeSet(op.projectList.flatMap(remaining(_, candidates)))
    val computed = candidates.filterNot(_.references.subsetOf(others)).distinctBy(_.canonicalized)
    val replaced = AttributeSet(computed) -- others
    if (computed.isEmpty || computed.length > replaced.size || !op.projectList.forall(_.deterministic)) None
    else {
      val names = op.projectList.collect { case Alias(child, name) => child.canonicalized -> name }.toMap
      val columns = computed.map(part => part.canonicalized -> Alias(part, names.getOrElse(part.canonicalized, "part"))())
      val upper = op.projectList.map(replace(_, candidates, columns.toMap).asInstanceOf[NamedExpression])
      val read = AttributeSet(upper)
      val lower = op.copy(projectList = op.child.output.filter(read.contains) ++ columns.map(_._2))
      lower.copyTagsFrom(op)
      val above = ProjectExec(upper, lower)
      LogicalLinks.insertAbove(above, lower)
      Some(above)
    }
  }

  /**
   * Return the largest supported part of `e` that Spark evaluates for every row. It evaluates the first child of an
   * expression always; the others may depend on its value.
   */
  private def parts(e: Expression, support: Support): Option[Expression] = e match {
    case _: Attribute => None
    case Alias(child, _) => parts(child, support)
    case _ if e.references.nonEmpty && Support.isSupported(e.dataType) && support.reason(e).isEmpty => Some(e)
    case _ => e.children.headOption.flatMap(parts(_, support))
  }

  /** Return the attributes that `e` reads outside of `parts`. */
  private def remaining(e: Expression, parts: Seq[Expression]): Seq[Attribute] = e match {
    case part if parts.exists(_ eq part) => Nil
    case a: Attribute => Seq(a)
    case other => other.children.flatMap(remaining(_, parts))
  }

  /** Return `e` with `columns`, by the canonical forms of what they hold, in place of `parts`. */
  private def replace(e: Expression, parts: Seq[Expression], columns: Map[Expression, Alias]): Expression =
    if (parts.exists(_ eq e)) columns.get(e.canonicalized).fold(e)(_.toAttribute)
    else if (e.children.isEmpty) e
    else e.withNewChildren(replace(e.children.head, parts, columns) +: e.children.tail)
}
