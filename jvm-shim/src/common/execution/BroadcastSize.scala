package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.plans.physical.BroadcastMode
import org.apache.spark.sql.execution.joins.HashedRelationBroadcastMode
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.map.BytesToBytesMap

/** Estimates the size of Spark's relation for the rows of chunks: AQE and Spark's limits compare it with thresholds. */
object BroadcastSize {
  /** The number of rows at which Spark refuses to broadcast. */
  private val MaxRows = 512000000L
  private val FillOfMap = 1.5

  /** Bytes of an index entry: two words, in a table between a quarter and half full. */
  private val IndexBytes = 48L

  private val Word = 8L

  /** Return the number of rows at which a broadcast fails, as in `BroadcastExchangeExec`. */
  def maxRows(mode: BroadcastMode): Long = mode match {
    case HashedRelationBroadcastMode(keys, _) if !isLong(keys.map(_.dataType)) =>
      (BytesToBytesMap.MAX_CAPACITY / FillOfMap).toLong
    case _ => MaxRows
  }

  /** Return the bytes of the relation that `mode` would build from `rows` rows whose Arrow chunks have `chunkBytes`. */
  def estimate(mode: BroadcastMode, schema: StructType, rows: Long, chunkBytes: Long): Long = {
    val types = schema.map(_.dataType)
    val inChunks = types.map(arrowBytes).sum * rows
    val variable = if (types.exists(isVariable)) math.max(0L, chunkBytes - inChunks.toLong) else 0L
    val inRows = rows * unsafeBytes(types) + variable
    mode match {
      case HashedRelationBroadcastMode(keys, _) if isLong(keys.map(_.dataType)) =>
        inRows + rows * (IndexBytes + Word)
      case HashedRelationBroadcastMode(keys, _) =>
        inRows + rows * (IndexBytes + 2 * Word + unsafeBytes(keys.map(_.dataType)))
      case _ => inRows
    }
  }

  private def isLong(keys: Seq[DataType]): Boolean = keys == Seq(LongType)

  private def isVariable(t: DataType): Boolean = t match {
    case _: StringType | BinaryType => true
    case _ => false
  }

  private def unsafeBytes(types: Seq[DataType]): Long = {
    val nulls = (types.length + 63) / 64 * Word
    val wide = types.count { case d: DecimalType => d.precision > Decimal.MAX_LONG_DIGITS; case _ => false }
    nulls + types.length * Word + wide * 2 * Word + types.count(isVariable) * Word / 2
  }

  private def arrowBytes(t: DataType): Double = t match {
    case NullType => 0
    case BooleanType => 0.125
    case ByteType => 1
    case ShortType => 2
    case IntegerType | FloatType | DateType | BinaryType | _: StringType => 4
    case _: DecimalType => 16
    case _ => 8
  }
}
