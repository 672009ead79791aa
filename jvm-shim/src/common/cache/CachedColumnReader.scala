package org.apache.spark.sql.pysparkpipeline

import java.io.ByteArrayInputStream

import org.apache.arrow.compression.CommonsCompressionFactory
import org.apache.arrow.memory.BufferAllocator
import org.apache.arrow.vector.{BaseIntVector, FieldVector}
import org.apache.arrow.vector.ipc.ArrowStreamReader

import org.apache.spark.sql.types._
import org.apache.spark.sql.vectorized.{ArrowColumnVector, ColumnarArray, ColumnarBatch, ColumnarMap, ColumnVector}
import org.apache.spark.unsafe.types.UTF8String

/** Decodes cached columns of these `types`; a batch is valid until the next. Owns `allocator`. */
class CachedColumnReader(types: Array[DataType], allocator: BufferAllocator) extends AutoCloseable {
  private var open: Seq[ArrowStreamReader] = Nil

  def read(streams: Array[Array[Byte]], rows: Int): ColumnarBatch = {
    closeStreams()
    val columns = streams.zip(types).map { case (stream, kind) =>
      val reader = new ArrowStreamReader(new ByteArrayInputStream(stream), allocator, CommonsCompressionFactory.INSTANCE)
      open +:= reader
      reader.loadNextBatch()
      val vector = reader.getVectorSchemaRoot.getVector(0)
      val dictionary = Option(vector.getField.getDictionary).map(d => reader.lookup(d.getId).getVector)
      new CachedColumn(kind, vector, dictionary): ColumnVector
    }
    new ColumnarBatch(columns, rows)
  }

  private def closeStreams(): Unit = {
    open.foreach(_.close())
    open = Nil
  }

  override def close(): Unit = {
    closeStreams()
    allocator.close()
  }
}

/** A stored column in its own type: integers of any width, unscaled decimals, lists of one, and strings of a dictionary. */
class CachedColumn(kind: DataType, vector: FieldVector, dictionary: Option[FieldVector]) extends ColumnVector(kind) {
  private val entries = new ArrowColumnVector(dictionary.getOrElse(vector))
  private val integers: BaseIntVector = vector match {
    case narrow: BaseIntVector => narrow
    case _ => null
  }

  private def integer(row: Int): Long = integers.getValueAsLong(row)

  /** Return the row of `entries` that has the value of `row`. */
  private def entry(row: Int): Int = if (dictionary.isEmpty) row else integer(row).toInt

  override def hasNull: Boolean = vector.getNullCount > 0
  override def numNulls: Int = vector.getNullCount
  override def isNullAt(row: Int): Boolean = vector.isNull(row)
  override def getBoolean(row: Int): Boolean = entries.getBoolean(row)
  override def getByte(row: Int): Byte = integer(row).toByte
  override def getShort(row: Int): Short = integer(row).toShort
  override def getInt(row: Int): Int = integer(row).toInt
  override def getLong(row: Int): Long = integer(row)
  override def getFloat(row: Int): Float = entries.getFloat(row)
  override def getDouble(row: Int): Double = entries.getDouble(row)
  override def getUTF8String(row: Int): UTF8String = if (isNullAt(row)) null else entries.getUTF8String(entry(row))
  override def getBinary(row: Int): Array[Byte] =
    if (integers == null) entries.getBinary(row) else if (isNullAt(row)) null else NarrowForm.listOf(integer(row))

  override def getDecimal(row: Int, precision: Int, scale: Int): Decimal =
    if (isNullAt(row)) null
    else if (integers == null) entries.getDecimal(row, precision, scale)
    else Decimal(integer(row), precision, scale)

  override def getArray(row: Int): ColumnarArray = throw new UnsupportedOperationException("the engine holds no arrays")
  override def getMap(row: Int): ColumnarMap = throw new UnsupportedOperationException("the engine holds no maps")
  override def getChild(ordinal: Int): ColumnVector = throw new UnsupportedOperationException("a flat column")

  /** Does nothing: the reader of the stream owns the vectors. */
  override def close(): Unit = ()
}
