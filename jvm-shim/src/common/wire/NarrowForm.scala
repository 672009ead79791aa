package org.apache.spark.sql.pysparkpipeline

import java.io.ByteArrayInputStream
import java.nio.{ByteBuffer, ByteOrder}
import java.nio.channels.Channels

import scala.jdk.CollectionConverters._

import org.apache.arrow.memory.BufferAllocator
import org.apache.arrow.vector.{VectorLoader, VectorSchemaRoot}
import org.apache.arrow.vector.ipc.ReadChannel
import org.apache.arrow.vector.types.pojo.{ArrowType, Field, FieldType, Schema}

import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.{ArrowColumnVector, ColumnarBatch, ColumnVector}

/**
 * Messages of exchanges whose integers, dates and decimals are integers of fewer bytes. A header precedes the record
 * batch message: magic, number of columns, the width of each in bytes (0: plain), zeros to a whole word. Integers of a
 * binary column, whose width has the bit `Lists`, are the values of serialized lists of one value each.
 */
object NarrowForm {
  private val Magic = 0x4E415252
  private val FixedBytes = 8
  private val Lists = 64
  private val SingleBytes = 40

  /** Return the widths of the columns of a narrow message; None for another. */
  def widths(data: Array[Byte]): Option[Seq[Byte]] = {
    val header = ByteBuffer.wrap(data).order(ByteOrder.LITTLE_ENDIAN)
    if (data.length < FixedBytes || header.getInt(0) != Magic) None
    else Some(data.slice(FixedBytes, FixedBytes + header.getInt(4)).toSeq)
  }

  /** Return the bits of the integers of a column. */
  def bits(width: Byte): Int = 8 * (width & ~Lists)

  /** Return the serialized list of one value of eight bytes, as Spark writes it: a row of one array. */
  def listOf(value: Long): Array[Byte] = {
    val words = ByteBuffer.allocate(SingleBytes).order(ByteOrder.nativeOrder())
    Seq(0L, (16L << 32) | 24L, 1L, 0L, value).foreach(words.putLong)
    words.array()
  }

  /** Return where the record batch message starts. */
  def start(columns: Int): Int = (FixedBytes + columns + 7) / 8 * 8
}

/** Decodes narrow messages of these `widths`; a batch is valid until the next. */
class NarrowReader(schema: StructType, widths: Seq[Byte], allocator: BufferAllocator) extends AutoCloseable {

  private val root = VectorSchemaRoot.create(
    new Schema(ArrowChunks.arrowSchema(schema).getFields.asScala.zip(widths).map {
      case (field, width) if width > 0 =>
        new Field(field.getName, FieldType.nullable(new ArrowType.Int(NarrowForm.bits(width), true)), null)
      case (field, _) => field
    }.asJava), allocator)
  private val loader = new VectorLoader(root)
  private val columns: Array[ColumnVector] =
    root.getFieldVectors.asScala.zip(widths).zip(schema).map {
      case ((vector, width), field) if width > 0 => new CachedColumn(field.dataType, vector, None): ColumnVector
      case ((vector, _), _) => new ArrowColumnVector(vector): ColumnVector
    }.toArray

  def read(data: Array[Byte]): ColumnarBatch = {
    val start = NarrowForm.start(widths.length)
    val bytes = new ByteArrayInputStream(data, start, data.length - start)
    ArrowChunks.load(loader, new ReadChannel(Channels.newChannel(bytes)), allocator)
    new ColumnarBatch(columns, root.getRowCount)
  }

  override def close(): Unit = root.close()
}
