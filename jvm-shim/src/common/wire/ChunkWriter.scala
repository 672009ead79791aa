package org.apache.spark.sql.pysparkpipeline

import scala.jdk.CollectionConverters._

import org.apache.arrow.vector.{BaseFixedWidthVector, VectorSchemaRoot}

import org.apache.spark.sql.catalyst.{InternalRow, ProjectingInternalRow}
import org.apache.spark.sql.execution.arrow.ArrowWriter
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.Platform

/**
 * Writes rows of `schema` into the vectors of `root`. Spark's writer checks the place of each value and counts it in its
 * vector; here numbers of 4 and 8 bytes, and what is stored as such a number, are written to the vector's memory. Spark
 * writes the other columns.
 */
private class ChunkWriter(root: VectorSchemaRoot, schema: StructType) {
  private val (ofNumbers, others) = schema.indices.partition(i => NumberWriter.isNumber(schema(i).dataType))
  private val numbers: Array[NumberWriter] = ofNumbers.map { i =>
    NumberWriter(schema(i).dataType, root.getVector(i).asInstanceOf[BaseFixedWidthVector], i)
  }.toArray
  private val rest =
    if (others.isEmpty) None
    else Some(ArrowWriter.create(new VectorSchemaRoot(
      others.map(root.getSchema.getFields.get(_)).asJava, others.map(root.getVector(_)).asJava, 0)))
  private val ofRest = ProjectingInternalRow(StructType(others.map(schema(_))), others)

  /** Begin a chunk. */
  def begin(): Unit = {
    rest.foreach(_.reset())
    numbers.foreach(_.begin())
  }

  /** Write `row` at `position`; the rows of a chunk are written one after the other. */
  def write(row: InternalRow, position: Int): Unit = {
    var i = 0
    while (i < numbers.length) {
      numbers(i).write(row, position)
      i += 1
    }
    rest.foreach { writer =>
      ofRest.project(row)
      writer.write(ofRest)
    }
  }

  /** End a chunk of `count` rows. */
  def finish(count: Int): Unit = {
    rest.foreach(_.finish())
    numbers.foreach(_.finish(count))
    root.setRowCount(count)
  }
}

/** Writes column `ordinal` of rows, numbers of `width` bytes, into `vector`. */
private abstract class NumberWriter(vector: BaseFixedWidthVector, ordinal: Int, width: Int) {
  private var capacity = 0
  private var data, validity = 0L
  /** The bits of the values since the last whole byte of them. */
  private var bits = 0

  vector.allocateNew()

  protected def put(row: InternalRow, address: Long): Unit

  def begin(): Unit = {
    bits = 0
    locate()
  }

  final def write(row: InternalRow, position: Int): Unit = {
    if (position == capacity) {
      vector.reAlloc()
      locate()
    }
    val address = data + position.toLong * width
    if (row.isNullAt(ordinal)) Platform.setMemory(null, address, width, 0)
    else {
      bits |= 1 << (position & 7)
      put(row, address)
    }
    if ((position & 7) == 7) endByte(position)
  }

  def finish(count: Int): Unit = if ((count & 7) != 0) endByte(count)

  private def endByte(position: Int): Unit = {
    Platform.putByte(null, validity + (position >> 3), bits.toByte)
    bits = 0
  }

  private def locate(): Unit = {
    capacity = vector.getValueCapacity
    data = vector.getDataBufferAddress
    validity = vector.getValidityBufferAddress
  }
}

private object NumberWriter {

  def isNumber(t: DataType): Boolean = t match {
    case IntegerType | DateType | FloatType | LongType | DoubleType | TimestampType | TimestampNTZType => true
    case _ => false
  }

  def apply(t: DataType, vector: BaseFixedWidthVector, ordinal: Int): NumberWriter = t match {
    case FloatType => new NumberWriter(vector, ordinal, 4) {
      override protected def put(row: InternalRow, address: Long): Unit =
        Platform.putFloat(null, address, row.getFloat(ordinal))
    }
    case IntegerType | DateType => new NumberWriter(vector, ordinal, 4) {
      override protected def put(row: InternalRow, address: Long): Unit =
        Platform.putInt(null, address, row.getInt(ordinal))
    }
    case DoubleType => new NumberWriter(vector, ordinal, 8) {
      override protected def put(row: InternalRow, address: Long): Unit =
        Platform.putDouble(null, address, row.getDouble(ordinal))
    }
    case _ => new NumberWriter(vector, ordinal, 8) {
      override protected def put(row: InternalRow, address: Long): Unit =
        Platform.putLong(null, address, row.getLong(ordinal))
    }
  }
}
