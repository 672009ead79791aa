package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** Groups chunk rows into Arrow batches for the worker: few batches, of bounded bytes. */
class RowGroups(rows: Iterator[InternalRow]) extends Iterator[Iterator[InternalRow]] {
  private val maxBytes = 4L << 20
  private val maxRows = 256

  override def hasNext: Boolean = rows.hasNext

  override def next(): Iterator[InternalRow] = new Iterator[InternalRow] {
    private var bytes = 0L
    private var count = 0
    override def hasNext: Boolean = count == 0 || (bytes < maxBytes && count < maxRows && rows.hasNext)
    override def next(): InternalRow = {
      val row = rows.next()
      bytes += row.asInstanceOf[UnsafeRow].getSizeInBytes
      count += 1
      row
    }
  }
}
