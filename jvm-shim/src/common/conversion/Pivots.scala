package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateExpression, Final, Max, Partial, PivotFirst}
import org.apache.spark.sql.execution.{ProjectExec, SparkPlan}
import org.apache.spark.sql.execution.aggregate.{BaseAggregateExec, HashAggregateExec, ObjectHashAggregateExec}
import org.apache.spark.sql.types.{DoubleType, FloatType}

/**
 * `PIVOT`: the aggregation `PivotFirst` puts the value of each pivot value into an array, and a Project takes the elements
 * out. The engine holds no arrays; here the Project becomes part of the aggregation, and `PivotFirst` one function for
 * each pivot value. Its buffer has a column for each pivot value already.
 *
 * `PivotFirst` returns the last value that is not NULL. An aggregation below groups by the pivot column, too, so a group
 * has at most one value for each pivot value, and `Max` returns it.
 */
object Pivots {

  /** Return the aggregation below `project` with the results of `project` if it pivots; else `project`. */
  def merged(project: ProjectExec): SparkPlan = project.child match {
    case a: HashAggregateExec if isMergeable(project, a) => merge(project, a)(r => a.copy(resultExpressions = r))
    case a: ObjectHashAggregateExec if isMergeable(project, a) => merge(project, a)(r => a.copy(resultExpressions = r))
    case _ => project
  }

  private def isMergeable(project: ProjectExec, a: BaseAggregateExec): Boolean =
    a.aggregateExpressions.exists(e => isPivot(e) && e.mode == Final) &&
      a.resultExpressions.forall { case _: Attribute | Alias(_: Attribute, _) => true; case _ => false } &&
      project.projectList.forall(_.deterministic)

  private def merge(project: ProjectExec, a: BaseAggregateExec)(copy: Seq[NamedExpression] => SparkPlan): SparkPlan = {
    val below = AttributeMap(a.resultExpressions.collect { case alias: Alias => alias.toAttribute -> alias })
    val results = project.projectList.map {
      case column: Attribute => below.getOrElse(column, column)
      case other => other.transform { case column: Attribute => below.get(column).map(_.child).getOrElse(column) }
        .asInstanceOf[NamedExpression]
    }
    val whole = copy(results)
    whole.copyTagsFrom(project)
    a.children.foreach(LogicalLinks.moveUp(_, a, project))
    whole
  }

  /** Return `op` with one function for each pivot value; `op` itself if it does not pivot, or as the engine cannot. */
  def flat[T <: BaseAggregateExec](op: T): T = {
    val flattened = op.aggregateExpressions.map(e => if (isPivot(e)) functions(e) else Some(Seq(e)))
    if (!op.aggregateExpressions.exists(isPivot) || flattened.exists(_.isEmpty)) op
    else {
      val columns = op.aggregateAttributes.zip(op.aggregateExpressions).zip(flattened.flatten).map {
        case ((array, e), functions) if isPivot(e) =>
          functions.map(f => AttributeReference(array.name, f.dataType)()).map(array.exprId -> _)
        case ((other, _), _) => Seq(other.exprId -> other)
      }
      val elements = columns.flatten.groupMap(_._1)(_._2)
      val results = op.resultExpressions.map(_.transform {
        case GetArrayItem(array: Attribute, Literal(i: Int, _), _) if elements.contains(array.exprId) =>
          elements(array.exprId)(i)
      }.asInstanceOf[NamedExpression])
      copied(op, flattened.flatten.flatten, columns.flatten.map(_._2), results).asInstanceOf[T]
    }
  }

  private def copied(
      op: BaseAggregateExec, functions: Seq[AggregateExpression], attributes: Seq[Attribute],
      results: Seq[NamedExpression]): BaseAggregateExec = op match {
    case a: HashAggregateExec =>
      a.copy(aggregateExpressions = functions, aggregateAttributes = attributes, resultExpressions = results)
    case a: ObjectHashAggregateExec =>
      a.copy(aggregateExpressions = functions, aggregateAttributes = attributes, resultExpressions = results)
    case other => other
  }

  private def isPivot(e: AggregateExpression): Boolean = e.aggregateFunction.isInstanceOf[PivotFirst]

  /** Return a function for each pivot value; None if values compare in another way than as the engine's. */
  private def functions(e: AggregateExpression): Option[Seq[AggregateExpression]] = e.aggregateFunction match {
    case PivotFirst(pivot, value, values, _, _) if isComparable(pivot, values) && (e.mode == Partial || e.mode == Final) =>
      Some(values.map { v =>
        val isOne = EqualNullSafe(pivot, Literal(v, pivot.dataType))
        e.copy(aggregateFunction = Max(If(isOne, value, Literal(null, value.dataType))))
      })
    case _ => None
  }

  private def isComparable(pivot: Expression, values: Seq[Any]): Boolean = pivot.dataType match {
    case DoubleType | FloatType => false
    case t => Support.isSupported(t) && values.distinct.length == values.length
  }
}
