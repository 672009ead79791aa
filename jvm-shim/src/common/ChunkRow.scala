package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter
import org.apache.spark.sql.types._

/**
 * The row that carries one chunk, both ways: (partition, driver, sender, sequence, rows, data). `data` is the
 * bytes of one Arrow IPC record batch message without its schema, which the plan knows. To a worker,
 * `partition` is the input's number and -1 marks the task's control message; from a worker it is the
 * destination, -1 statistics, -2 an error (JSON in `data`).
 */
object ChunkRow {
  val Partition = 0
  val Rows = 4
  val Data = 5
  val NumFields = 6
  val Control: Int = -1
  val Statistics: Int = -1
  val Error: Int = -2

  val schema: StructType = new StructType()
    .add("partition", IntegerType, nullable = false)
    .add("driver", IntegerType, nullable = false)
    .add("sender", IntegerType, nullable = false)
    .add("sequence", LongType, nullable = false)
    .add("rows", LongType, nullable = false)
    .add("data", BinaryType, nullable = false)
}

/** Makes chunk rows; the row it gives is reused by the next call. */
class ChunkRowWriter {
  private val writer = new UnsafeRowWriter(ChunkRow.NumFields, 1 << 16)

  def write(partition: Int, driver: Int, sender: Int, sequence: Long, rows: Long, data: Array[Byte]): UnsafeRow = {
    writer.reset()
    writer.zeroOutNullBytes()
    writer.write(0, partition)
    writer.write(1, driver)
    writer.write(2, sender)
    writer.write(3, sequence)
    writer.write(4, rows)
    writer.write(5, data)
    writer.getRow
  }

  /** `row` with another partition. */
  def retarget(row: InternalRow, partition: Int): UnsafeRow =
    write(partition, row.getInt(1), row.getInt(2), row.getLong(3), row.getLong(4), row.getBinary(5))
}
