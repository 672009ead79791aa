package org.apache.spark.sql.pysparkpipeline

import java.util.Base64

import com.fasterxml.jackson.databind.node.{ObjectNode, TextNode}

import org.apache.spark.rdd.{ParallelCollectionPartition, RDD}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, UnsafeRow}
import org.apache.spark.sql.execution.{LocalTableScanExec, OneRowRelationExec, SparkPlan}
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.types.{BinaryType, DataType, StringType}
import org.apache.spark.unsafe.types.UTF8String

/** Sources whose rows are in the plan: a task's control message has those of its partition as Arrow messages. */
trait RowsInPlanRule[T <: SparkPlan] extends SourceRule[T] {

  /** The columns alone, which need no evaluation. */
  override def expressions(op: T): Seq[Expression] = Nil

  protected def message(op: T, rows: Iterator[InternalRow]): ScanPart = {
    val encoder = new RowEncoder(op.schema, ArrowChunks.allocator("pysparkpipeline local rows"))
    val (_, bytes) = try encoder.encode(rows, Int.MaxValue) finally encoder.close()
    ScanPart(Json.arr(Seq(TextNode.valueOf(Base64.getEncoder.encodeToString(bytes)))).toString, Nil)
  }

  override def joined(parts: Seq[ScanPart]): ScanPart =
    ScanPart(Json.arr(parts.flatMap(part => Manifest.elements(Manifest.mapper.readTree(part.splits)))).toString, Nil)

  /** Adds nothing: the control message has the rows. */
  override def describe(op: T, node: ObjectNode, plan: PlanJson): Unit = ()
}

/** The rows of VALUES and of small local data. Larger data come as rows from Spark, task by task. */
object LocalTableRule extends RowsInPlanRule[LocalTableScanExec] {

  private val MaxRows = 10000
  private val MaxBytes = 1L << 20

  override def limitation(op: LocalTableScanExec): Option[String] =
    if (op.stream.nonEmpty) Some("a local table of a stream is not supported")
    else if (isLarge(op)) Some(s"LocalTableScan of more than $MaxRows rows or $MaxBytes bytes is not supported")
    else None

  /** Return the rows of Spark's partitions. */
  override def parts(op: LocalTableScanExec, metrics: Map[String, SQLMetric]): Array[ScanPart] =
    (op.inputRDDs().head: RDD[InternalRow]).partitions.map {
      case rows: ParallelCollectionPartition[InternalRow @unchecked] => message(op, rows.iterator)
      case other => throw new IllegalStateException(s"a local table gave ${other.getClass.getName}")
    }

  private def isLarge(op: LocalTableScanExec): Boolean = {
    val types = op.output.map(_.dataType)
    op.rows.lengthCompare(MaxRows) > 0 || op.rows.iterator.scanLeft(0L)(_ + bytes(_, types)).exists(_ > MaxBytes)
  }

  private def bytes(row: InternalRow, types: Seq[DataType]): Long = row match {
    case unsafe: UnsafeRow => unsafe.getSizeInBytes
    case _ => types.zipWithIndex.map { case (t, i) => if (row.isNullAt(i)) 0L else bytes(row.get(i, t), t) }.sum
  }

  private def bytes(value: Any, t: DataType): Long = (value, t) match {
    case (text: UTF8String, _: StringType) => text.numBytes
    case (data: Array[Byte], BinaryType) => data.length
    case _ => t.defaultSize
  }
}

/** The one row without columns of a query without FROM. */
object OneRowRule extends RowsInPlanRule[OneRowRelationExec] {
  override def parts(op: OneRowRelationExec, metrics: Map[String, SQLMetric]): Array[ScanPart] =
    Array(message(op, Iterator.single(InternalRow.empty)))
}
