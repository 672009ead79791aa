package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateFunction, TypedImperativeAggregate}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.types._

/**
 * An expression of a converted operator that Spark's own code evaluates, in the executor's JVM, over chunks of the columns
 * that it reads ([[ExpressionServer]]). `together` are the expressions that one call evaluates, this one among them; Nil if
 * it has a call of its own.
 */
case class JvmExpression(child: Expression, together: Seq[Expression] = Nil) extends UnaryExpression {
  override def dataType: DataType = child.dataType
  override def nullable: Boolean = child.nullable
  override def eval(input: InternalRow): Any = child.eval(input)
  override def genCode(ctx: CodegenContext): ExprCode = child.genCode(ctx)
  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = child.genCode(ctx)
  override def prettyName: String = child.prettyName
  override def sql: String = child.sql
  override def toString: String = s"jvm($child)"
  override protected def withNewChildInternal(newChild: Expression): JvmExpression = copy(child = newChild)
  override lazy val canonicalized: Expression = JvmExpression(child.canonicalized)

  /** The columns that it reads, in a fixed order: the arguments of the call in the engine. */
  lazy val columns: Seq[Attribute] = child.references.toSeq

  def call: JvmExpressionCall = JvmExpressionCall(Seq(child), columns)

  /** The call that evaluates it with others; None if it has its own, as after a change of its columns. */
  def shared: Option[JvmResults] = if (isShared) Some(JvmResults(together)) else None

  def isShared: Boolean = together.contains(child)
}

/**
 * The results of `expressions`, which read the same columns, as one struct. It exists only while plans are written as JSON.
 * Decimals of at most 18 digits cross to the JVM and back as their unscaled values: Arrow's Java library reads and writes
 * these faster.
 */
case class JvmResults(expressions: Seq[Expression]) extends LeafExpression with Unevaluable {
  import JvmResults._

  private val columns: Seq[Attribute] = expressions.head.references.toSeq
  private val results = expressions.map(unscaled)

  override def nullable: Boolean = false

  override lazy val dataType: StructType = JvmCall.fields(results)

  /** The arguments of the call in the engine. */
  def arguments: Seq[Expression] = columns.map(unscaled)

  /** Return the value of one of the expressions. */
  def value(of: Expression): Expression = scaled(GetStructField(this, expressions.indexOf(of)), of.dataType)

  def call: JvmExpressionCall = {
    val sent = AttributeMap(columns.map { c =>
      c -> (if (isShort(c.dataType)) AttributeReference(c.name, LongType, c.nullable)() else c)
    })
    val read = results.map(_.transformUp { case a: Attribute => scaled(sent(a), a.dataType) })
    JvmExpressionCall(read, columns.map(sent))
  }
}

object JvmResults {

  private def isShort(t: DataType): Boolean = t match {
    case d: DecimalType => d.precision <= Decimal.MAX_LONG_DIGITS
    case _ => false
  }

  private def unscaled(e: Expression): Expression = if (isShort(e.dataType)) UnscaledValue(e) else e

  /** Return `e` as a value of type `of`, which it is, or whose unscaled value it is. */
  private def scaled(e: Expression, of: DataType): Expression = of match {
    case d: DecimalType if isShort(d) => MakeDecimal(e, d.precision, d.scale)
    case _ => e
  }
}

/** What an executor needs to evaluate expressions for the engine: these, and the columns that they read. */
case class JvmExpressionCall(expressions: Seq[Expression], columns: Seq[Attribute]) extends JvmCall {

  override def inputs: StructType = JvmCall.fields(columns)

  override def result: StructType = JvmCall.fields(expressions)

  /** Return the expressions over rows of the columns. The executor calls it: transient fields are set in copies. */
  def bound: Seq[Expression] = expressions.map(BindReferences.bindReference(_, AttributeSeq(columns)))
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

  def call: JvmAggregateCall = JvmAggregateCall(function, JvmCall.fields(columns))
}

object JvmAggregate {

  def apply(function: TypedImperativeAggregate[_]): JvmAggregate = {
    val columns = function.references.toSeq
    val row = AttributeReference("buffer", LongType, nullable = false)() +: columns
    JvmAggregate(BindReferences.bindReference(function: Expression, AttributeSeq(row)).asInstanceOf[TypedImperativeAggregate[_]], columns)
  }
}
