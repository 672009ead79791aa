package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateExpression, AggregateFunction}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.types.{DataType, StructField, StructType}

/**
 * An expression of a converted operator that Spark's own code evaluates, in the executor's JVM, over chunks of the columns
 * that it reads ([[ExpressionServer]]).
 */
case class JvmExpression(child: Expression) extends UnaryExpression {
  override def dataType: DataType = child.dataType
  override def nullable: Boolean = child.nullable
  override def eval(input: InternalRow): Any = child.eval(input)
  override def genCode(ctx: CodegenContext): ExprCode = child.genCode(ctx)
  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = child.genCode(ctx)
  override def prettyName: String = child.prettyName
  override def sql: String = child.sql
  override def toString: String = s"jvm($child)"
  override protected def withNewChildInternal(newChild: Expression): JvmExpression = copy(child = newChild)

  /** The columns that it reads, in a fixed order: the arguments of the call in the engine. */
  lazy val columns: Seq[Attribute] = child.references.toSeq

  def call: JvmCall = JvmCall(child, columns)
}

/** What an executor needs to evaluate a [[JvmExpression]]: the expression, and the columns that it reads. */
case class JvmCall(expression: Expression, columns: Seq[Attribute]) {

  def inputs: StructType = StructType(columns.map(c => StructField(c.name, c.dataType, c.nullable)))

  def result: StructType = StructType(Seq(StructField("value", expression.dataType, expression.nullable)))

  /** Return the expression over rows of the columns. The executor calls it: transient fields are set in copies. */
  def bound: Expression = BindReferences.bindReference(expression, AttributeSeq(columns))
}

/** Finds the parts of an operator's expressions that the engine does not support and Spark can evaluate for it. */
class JvmExpressions(support: Support) {
  import JvmExpressions._

  /** Return `plan` with the unsupported parts of its expressions as [[JvmExpression]]s; None if there are none. */
  def within(plan: SparkPlan): Option[SparkPlan] =
    if (!isHost(plan) || plan.expressions.exists(depth(_) > MaxLevels)) None
    else {
      val changed = plan.mapExpressions(wrapped)
      if (calls(changed).isEmpty) None else Some(changed)
    }

  /**
   * Return `e` with its smallest unsupported parts wrapped. Variables of a lambda have no columns, and `TryEval` would ask
   * for one row after the other, so these are evaluated as a whole.
   */
  private def wrapped(e: Expression): Expression = e match {
    case _: Attribute => e
    case _ if support.reason(e).isEmpty => e
    case a: AggregateExpression =>
      a.copy(aggregateFunction = a.aggregateFunction.mapChildren(wrapped).asInstanceOf[AggregateFunction],
        filter = a.filter.map(wrapped))
    case _: Alias | _: SortOrder | _: Generator => e.mapChildren(wrapped)
    case _: HigherOrderFunction | _: TryEval => if (isEvaluable(e)) JvmExpression(e) else e
    case other =>
      val inner = other.mapChildren(wrapped)
      if (support.argumentReason(inner).nonEmpty && isEvaluable(other)) JvmExpression(other) else inner
  }

  private def isEvaluable(e: Expression): Boolean =
    e.deterministic && Support.isHeld(e.dataType) && e.references.forall(a => Support.isHeld(a.dataType)) && !e.exists {
      case _: PlanExpression[_] | _: PythonUDF | _: AggregateExpression | _: WindowExpression | _: JvmExpression => true
      case _: LambdaFunction | _: Attribute | _: NamedLambdaVariable => false
      case other => other.isInstanceOf[Unevaluable]
    }
}

object JvmExpressions {

  /** The levels of the deepest expression that is searched. */
  private val MaxLevels = 200

  /** Return the expressions of `plan` that Spark evaluates for the engine. */
  def calls(plan: SparkPlan): Seq[JvmExpression] =
    plan.expressions.flatMap(_.collect { case j: JvmExpression => j })

  /** Return `plan` with the expressions of [[JvmExpression]]s in their place. */
  def without(plan: SparkPlan): SparkPlan =
    if (calls(plan).isEmpty) plan else plan.transformExpressions { case JvmExpression(child) => child }

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
}
