package org.apache.spark.sql.pysparkpipeline

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.catalyst.expressions.aggregate.TypedImperativeAggregate
import org.apache.spark.sql.types.{BinaryType, LongType, StructField, StructType}
import org.apache.spark.sql.vectorized.ColumnarBatch

/** What an executor needs to update, merge and read buffers of an aggregate function, whose arguments are `columns`. */
case class JvmAggregateCall(function: TypedImperativeAggregate[_], columns: Seq[StructField]) {

  /** In the order of their numbers: the worker counts from that of the first. */
  def steps: Seq[JvmStep] = Seq(Update(this), Merge(this), Serialize(this), Evaluate(this))
}

/** A step on buffers of an aggregate function. The first column of its chunks has the numbers of buffers. */
sealed trait JvmStep extends JvmCall {
  def aggregate: JvmAggregateCall
  protected def others: Seq[StructField]

  override def inputs: StructType = StructType(StructField("buffer", LongType, nullable = false) +: others)
}

/** Updates buffers with rows of the arguments; without results. */
case class Update(aggregate: JvmAggregateCall) extends JvmStep {
  override protected def others: Seq[StructField] = aggregate.columns
  override def result: StructType = JvmCall.result(LongType)
}

/** Merges serialized buffers into buffers; without results. */
case class Merge(aggregate: JvmAggregateCall) extends JvmStep {
  override protected def others: Seq[StructField] = Seq(StructField("serialized", BinaryType))
  override def result: StructType = JvmCall.result(LongType)
}

/** A step with a result for each buffer, into which the buffer `merged` is merged first if it is not NULL. */
sealed trait ReadStep extends JvmStep {
  override protected def others: Seq[StructField] = Seq(StructField("merged", LongType))
}

/** Returns the serialized buffers. */
case class Serialize(aggregate: JvmAggregateCall) extends ReadStep {
  override def result: StructType = JvmCall.result(BinaryType)
}

/** Returns the values of the function. */
case class Evaluate(aggregate: JvmAggregateCall) extends ReadStep {
  override def result: StructType = JvmCall.result(aggregate.function.dataType)
}

/**
 * The buffers of one aggregate function in a task, by number. A buffer with a negative number is read once. One thread
 * at a time uses them: `function` may have a state.
 */
class AggregateBuffers(function: TypedImperativeAggregate[AnyRef]) {
  private val buffers = mutable.LongMap.empty[AnyRef]

  /**
   * Return the results of `step` for the rows of `batch`, each valid until the next. `copied` makes a row of it one that
   * Spark can copy.
   */
  def run(step: JvmStep, batch: ColumnarBatch, copied: InternalRow => InternalRow): Iterator[InternalRow] = {
    val rows = Iterator.range(0, batch.numRows()).map(i => copied(batch.getRow(i)))
    step match {
      case _: Update =>
        rows.foreach(row => change(row.getLong(0))(function.update(_, row)))
        Iterator.empty
      case _: Merge =>
        rows.foreach(row => change(row.getLong(0))(function.merge(_, function.deserialize(row.getBinary(1)))))
        Iterator.empty
      case read: ReadStep =>
        rows.map { row =>
          val own = taken(row.getLong(0))
          val whole = if (row.isNullAt(1)) own else function.merge(own, copy(buffer(row.getLong(1))))
          new GenericInternalRow(Array[Any](if (read.isInstanceOf[Serialize]) function.serialize(whole) else function.eval(whole)))
        }
    }
  }

  private def buffer(number: Long): AnyRef = buffers.getOrElse(number, function.createAggregationBuffer())

  private def change(number: Long)(by: AnyRef => AnyRef): Unit = buffers(number) = by(buffer(number))

  private def taken(number: Long): AnyRef = {
    val found = buffer(number)
    if (number < 0) buffers -= number
    found
  }

  private def copy(buffer: AnyRef): AnyRef = function.deserialize(function.serialize(buffer))
}
