package org.apache.spark.sql.pysparkpipeline

import org.apache.arrow.vector.{BigIntVector, IntVector, VarBinaryVector}

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types._
import org.apache.spark.sql.vectorized.ArrowColumnVector
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.array.ByteArrayMethods

/**
 * The row that carries one chunk in either direction: (partition, driver, sender, sequence, rows, data). `data` is the
 * bytes of one Arrow IPC record batch message without its schema, which the plan defines. In a row for a worker,
 * `partition` is the number of the input, or -1 for the task's control message. In a row from a worker it is the
 * destination, -1 for statistics, -2 for an error, or -3 for the map output that the worker wrote (JSON in `data`).
 */
object ChunkRow {
  val Partition = 0
  val Rows = 4
  val Data = 5
  val NumFields = 6
  val Control: Int = -1
  val Statistics: Int = -1
  val Error: Int = -2
  val Written: Int = -3
  /** A chunk of buffers of metrics; the driver is the number of the node that collected them. */
  val Metrics: Int = -4
  /** The driver of a row for a worker that stands for the chunk rows of blocks of a shuffle in files. */
  val Blocks: Int = -2

  val schema: StructType = new StructType()
    .add("partition", IntegerType, nullable = false)
    .add("driver", IntegerType, nullable = false)
    .add("sender", IntegerType, nullable = false)
    .add("sequence", LongType, nullable = false)
    .add("rows", LongType, nullable = false)
    .add("data", BinaryType, nullable = false)
}

/** Builds chunk rows. The next call reuses the returned row and its bytes. */
class ChunkRowWriter {
  import ChunkRowWriter._

  private var buffer = new Array[Byte](1 << 16)
  private val row = new UnsafeRow(ChunkRow.NumFields)

  /** Return the row of a chunk whose data is `parts`, one after another. */
  def write(partition: Int, driver: Int, sender: Int, sequence: Long, rows: Long, parts: Array[Byte]*): UnsafeRow = {
    reserve(parts.map(_.length).sum)
    parts.foldLeft(DataStart) { (end, part) =>
      System.arraycopy(part, 0, buffer, end, part.length)
      end + part.length
    }
    fill(partition, driver, sender, sequence, rows)
  }

  /** Return the row at `index` of a worker's output; copies `data` from Arrow's memory once. */
  def write(columns: ChunkVectors, index: Int): UnsafeRow = {
    val start = columns.data.getStartOffset(index)
    val length = columns.data.getEndOffset(index) - start
    reserve(length)
    columns.data.getDataBuffer.getBytes(start.toLong, buffer, DataStart, length)
    fill(columns.partition.get(index), columns.driver.get(index), columns.sender.get(index),
      columns.sequence.get(index), columns.rows.get(index))
  }

  /** Reserve `length` bytes for data and zero the last word, because Spark compares and hashes whole words. */
  private def reserve(length: Int): Unit = {
    val size = DataStart + ByteArrayMethods.roundNumberOfBytesToNearestWord(length)
    if (size > buffer.length) buffer = new Array[Byte](Math.max(size, Math.min(buffer.length.toLong * 2, MaxBytes).toInt))
    Platform.putLong(buffer, Platform.BYTE_ARRAY_OFFSET, 0L)
    Platform.putLong(buffer, Platform.BYTE_ARRAY_OFFSET + size - 8, 0L)
    row.pointTo(buffer, size)
    row.setLong(ChunkRow.Data, (DataStart.toLong << 32) | length)
  }

  private def fill(partition: Int, driver: Int, sender: Int, sequence: Long, rows: Long): UnsafeRow = {
    row.setInt(0, partition)
    row.setInt(1, driver)
    row.setInt(2, sender)
    row.setLong(3, sequence)
    row.setLong(4, rows)
    row
  }
}

private object ChunkRowWriter {
  /** The offset of an `UnsafeRow`'s variable data: after the null bits and a word for each field. */
  private val DataStart = 8 + 8 * ChunkRow.NumFields
  private val MaxBytes = ByteArrayMethods.MAX_ROUNDED_ARRAY_LENGTH.toLong
}

/** The columns of a batch of chunk rows from a worker. */
class ChunkVectors(struct: ArrowColumnVector) {
  private def child[V](i: Int): V = struct.getChild(i).asInstanceOf[ArrowColumnVector].getValueVector.asInstanceOf[V]

  val partition: IntVector = child(0)
  val driver: IntVector = child(1)
  val sender: IntVector = child(2)
  val sequence: BigIntVector = child(3)
  val rows: BigIntVector = child(4)
  val data: VarBinaryVector = child(5)
}
