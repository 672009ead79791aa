package org.apache.spark.sql.pysparkpipeline

import scala.jdk.CollectionConverters._

import org.apache.spark.{Partition, SparkContext, TaskContext}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.trees.LeafLike
import org.apache.spark.sql.execution.{CollectMetricsExec, LeafExecNode, SparkPlan}
import org.apache.spark.sql.types.{DataType, StructType}

/**
 * The metrics of `Dataset.observe` from the buffers that fragment instances compute. Spark finds and reports metrics by
 * its operator `CollectMetricsExec`, and its accumulator merges the states of tasks. So a fragment has such an operator as
 * a child, over rows of buffers: the row of a task's instance is the state of the task.
 */
object MetricBuffers {

  /** Return the functions of the metrics in the order of their buffers. */
  def calls(op: CollectMetricsExec): Seq[AggregateExpression] =
    op.metricExpressions.flatMap(_.collect { case call: AggregateExpression => call })

  /** Return Spark's operator of the metrics of `op` over rows of buffers. */
  def operator(op: CollectMetricsExec): CollectMetricsExec = {
    val metrics = op.metricExpressions.map(_.transform {
      case call: AggregateExpression => call.copy(aggregateFunction = ofBuffer(call.aggregateFunction))
    }.asInstanceOf[NamedExpression])
    val columns = metrics.flatMap(_.collect { case call: AggregateExpression => call })
      .flatMap(_.aggregateFunction.inputAggBufferAttributes)
    CollectMetricsExec(op.name, metrics, MetricBuffersExec(columns))
  }

  /** Return the collectors of the metrics in `layout` by the number of the node; `operators` in the order of the nodes. */
  def collectors(layout: FragmentLayout, operators: Seq[SparkPlan]): Map[Int, MetricsCollector] =
    layout.ofKind(NodeKind.PartitionDependent).filter(_.plan.isInstanceOf[CollectMetricsExec]).map(_.number)
      .zip(operators.map(MetricsCollector.of)).toMap

  private def ofBuffer(function: AggregateFunction): AggregateFunction = function match {
    case declarative: DeclarativeAggregate => DeclarativeOfBuffer(declarative)
    case typed: TypedImperativeAggregate[AnyRef @unchecked] => TypedOfBuffer(typed)
    case imperative: ImperativeAggregate => ImperativeOfBuffer(imperative)
  }
}

/** Rows of buffers, one for each task, which the task's instance has sent. */
case class MetricBuffersExec(output: Seq[Attribute]) extends LeafExecNode {
  override protected def doExecute(): RDD[InternalRow] = new MetricBuffersRDD(session.sparkContext)
}

/** The row of a task, which its [[MetricsCollector]] sets; there are no partitions, for no job runs over it. */
class MetricBuffersRDD(sc: SparkContext) extends RDD[InternalRow](sc, Nil) {
  @transient var row: InternalRow = _

  override protected def getPartitions: Array[Partition] = Array.empty

  override def compute(split: Partition, context: TaskContext): Iterator[InternalRow] = Iterator.single(row)
}

/** Adds the buffers of a task to the accumulator of the metrics through `collected`, the rows of Spark's operator. */
class MetricsCollector(source: MetricBuffersRDD, collected: RDD[InternalRow], schema: StructType) extends Serializable {

  def add(data: Array[Byte], split: Partition, context: TaskContext): Unit = {
    val reader = new ChunkReader(schema, ArrowChunks.allocator("pysparkpipeline metrics"))
    val columns = schema.zipWithIndex.map { case (field, i) => BoundReference(i, field.dataType, field.nullable) }
    try reader.read(data).rowIterator().asScala.foreach { buffers =>
      source.row = InterpretedUnsafeProjection.createProjection(columns)(buffers).copy()
      collected.iterator(split, context).foreach(_ => ())
    } finally reader.close()
  }
}

object MetricsCollector {
  def of(operator: SparkPlan): MetricsCollector = {
    val collected = operator.execute()
    val Seq(source) = collected.dependencies.map(_.rdd)
    new MetricsCollector(source.asInstanceOf[MetricBuffersRDD], collected, operator.children.head.schema)
  }
}

/** A function whose state is set to a buffer instead of updated by a row. */
private case class DeclarativeOfBuffer(function: DeclarativeAggregate)
  extends DeclarativeAggregate with LeafLike[Expression] {

  override def dataType: DataType = function.dataType

  override def nullable: Boolean = function.nullable

  override def aggBufferAttributes: Seq[AttributeReference] = function.aggBufferAttributes

  override val initialValues: Seq[Expression] = function.initialValues

  override lazy val updateExpressions: Seq[Expression] = inputAggBufferAttributes

  override lazy val mergeExpressions: Seq[Expression] = {
    val columns = AttributeMap(function.inputAggBufferAttributes.zip(inputAggBufferAttributes))
    function.mergeExpressions.map(_.transform { case a: AttributeReference => columns.getOrElse(a, a) })
  }

  override lazy val evaluateExpression: Expression = function.evaluateExpression
}

/** A function whose state is an object, which is set to that of a buffer instead of updated by a row. */
private case class TypedOfBuffer(
    function: TypedImperativeAggregate[AnyRef], mutableAggBufferOffset: Int = 0, inputAggBufferOffset: Int = 0)
  extends TypedImperativeAggregate[AnyRef] with LeafLike[Expression] {

  override def dataType: DataType = function.dataType

  override def nullable: Boolean = function.nullable

  override def createAggregationBuffer(): AnyRef = function.createAggregationBuffer()

  override def update(buffer: AnyRef, row: InternalRow): AnyRef = deserialize(row.getBinary(inputAggBufferOffset))

  override def merge(buffer: AnyRef, input: AnyRef): AnyRef = function.merge(buffer, input)

  override def eval(buffer: AnyRef): Any = function.eval(buffer)

  override def serialize(buffer: AnyRef): Array[Byte] = function.serialize(buffer)

  override def deserialize(bytes: Array[Byte]): AnyRef = function.deserialize(bytes)

  override def withNewMutableAggBufferOffset(offset: Int): TypedOfBuffer = copy(mutableAggBufferOffset = offset)

  override def withNewInputAggBufferOffset(offset: Int): TypedOfBuffer = copy(inputAggBufferOffset = offset)
}

/** A function whose state has several columns, which are set to those of a buffer instead of updated by a row. */
private case class ImperativeOfBuffer(
    function: ImperativeAggregate, mutableAggBufferOffset: Int = 0, inputAggBufferOffset: Int = 0)
  extends ImperativeAggregate with LeafLike[Expression] {

  private lazy val placed =
    function.withNewMutableAggBufferOffset(mutableAggBufferOffset).withNewInputAggBufferOffset(inputAggBufferOffset)

  override def dataType: DataType = function.dataType

  override def nullable: Boolean = function.nullable

  override def aggBufferSchema: StructType = function.aggBufferSchema

  override def aggBufferAttributes: Seq[AttributeReference] = function.aggBufferAttributes

  override def inputAggBufferAttributes: Seq[AttributeReference] = function.inputAggBufferAttributes

  override def initialize(buffer: InternalRow): Unit = placed.initialize(buffer)

  override def update(buffer: InternalRow, row: InternalRow): Unit = aggBufferSchema.zipWithIndex.foreach {
    case (field, i) => buffer.update(mutableAggBufferOffset + i, row.get(inputAggBufferOffset + i, field.dataType))
  }

  override def merge(buffer: InternalRow, input: InternalRow): Unit = placed.merge(buffer, input)

  override def eval(buffer: InternalRow): Any = placed.eval(buffer)

  override def withNewMutableAggBufferOffset(offset: Int): ImperativeOfBuffer = copy(mutableAggBufferOffset = offset)

  override def withNewInputAggBufferOffset(offset: Int): ImperativeOfBuffer = copy(inputAggBufferOffset = offset)
}
