package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateExpression, AggregateFunction, TypedImperativeAggregate}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.types.{DataType, LongType, StructField, StructType}

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

  def call: JvmExpressionCall = JvmExpressionCall(child, columns)
}

/** What an executor needs to evaluate a [[JvmExpression]]: the expression, and the columns that it reads. */
case class JvmExpressionCall(expression: Expression, columns: Seq[Attribute]) extends JvmCall {

  override def inputs: StructType = JvmExpressions.fields(columns)

  override def result: StructType = JvmCall.result(expression.dataType, expression.nullable)

  /** Return the expression over rows of the columns. The executor calls it: transient fields are set in copies. */
  def bound: Expression = BindReferences.bindReference(expression, AttributeSeq(columns))
}

/**
 * An aggregate function that Spark's own code computes for the engine, which groups the rows: each stage updates or merges
 * buffers in the executor's JVM ([[AggregateBuffers]]). `function` is bound to rows of the number of a buffer and `columns`.
 */
case class JvmAggregate(function: TypedImperativeAggregate[_], columns: Seq[Expression]) extends AggregateFunction {
  override def children: Seq[Expression] = columns
  override def dataType: DataType = function.dataType
  override def nullable: Boolean = function.nullable
  override def aggBufferSchema: StructType = function.aggBufferSchema
  override def aggBufferAttributes: Seq[AttributeReference] = function.aggBufferAttributes
  override def inputAggBufferAttributes: Seq[AttributeReference] = function.inputAggBufferAttributes
  override def eval(input: InternalRow): Any = function.eval(input)
  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = function.genCode(ctx)
  override def prettyName: String = function.prettyName
  override def toString: String = s"jvm($original)"
  override protected def withNewChildrenInternal(newChildren: IndexedSeq[Expression]): JvmAggregate =
    copy(columns = newChildren)

  /** The function over the columns, as Spark planned it. */
  def original: AggregateFunction =
    function.transform { case r: BoundReference => columns(r.ordinal - 1) }.asInstanceOf[AggregateFunction]

  def call: JvmAggregateCall = JvmAggregateCall(function, columns.zipWithIndex.map { case (c, i) =>
    StructField(s"c$i", c.dataType, c.nullable)
  })
}

object JvmAggregate {

  def apply(function: TypedImperativeAggregate[_]): JvmAggregate = {
    val columns = function.references.toSeq
    val row = AttributeReference("buffer", LongType, nullable = false)() +: columns
    JvmAggregate(BindReferences.bindReference(function: Expression, AttributeSeq(row)).asInstanceOf[TypedImperativeAggregate[_]], columns)
  }
}

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
      val inner = a.copy(aggregateFunction = a.aggregateFunction.mapChildren(wrapped).asInstanceOf[AggregateFunction],
        filter = a.filter.map(wrapped))
      if (support.reason(inner).isEmpty) inner else ofFunction(a).map(_.copy(filter = inner.filter)).getOrElse(inner)
    case _: Alias | _: SortOrder | _: Generator => e.mapChildren(wrapped)
    case _: HigherOrderFunction | _: TryEval => if (isEvaluable(e)) JvmExpression(e) else e
    case other =>
      val inner = other.mapChildren(wrapped)
      if (support.argumentReason(inner).nonEmpty && isEvaluable(other)) JvmExpression(other) else inner
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
    else plan.transformExpressions { case JvmExpression(child) => child; case function: JvmAggregate => function.original }

  def fields(columns: Seq[Attribute]): StructType = StructType(columns.map(c => StructField(c.name, c.dataType, c.nullable)))

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
