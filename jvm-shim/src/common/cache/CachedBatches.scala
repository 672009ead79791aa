package org.apache.spark.sql.pysparkpipeline

import java.util.Arrays

import scala.annotation.tailrec

import org.apache.spark.{OneToOneDependency, Partition, TaskContext}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, GenericInternalRow}
import org.apache.spark.sql.columnar.CachedBatch
import org.apache.spark.sql.execution.LeafExecNode
import org.apache.spark.sql.execution.columnar.DefaultCachedBatch
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** The batches of a cached result of the engine: one Arrow IPC stream per column (`exchange/cached_columns.py`). */
object CachedBatches {

  /** Return whether the engine caches columns of these types: no nested ones. */
  def areSupported(schema: Seq[Attribute]): Boolean =
    schema.nonEmpty && schema.forall(column => Support.isSupported(column.dataType))

  /** Return the batches of a plan's rows if the engine computes them and caches their types; None if Spark does. */
  def of(rows: RDD[InternalRow], schema: Seq[Attribute], conf: SQLConf): Option[RDD[CachedBatch]] =
    if (!areSupported(schema)) None
    else fragment(rows, schema).map { chunks =>
      val codec = if (conf.useCompression) Some("zstd") else None
      val maxRows = if (conf.contains(SQLConf.COLUMN_BATCH_SIZE.key)) conf.columnBatchSize else 0
      new ChunkBatchRDD(chunks.forCache(codec, maxRows), schema.map(_.dataType).toArray)
    }

  private def fragment(rows: RDD[InternalRow], schema: Seq[Attribute]): Option[FragmentRDD] = rows match {
    case result: FragmentResultRDD => Some(result.fragment)
    case _: DecodedChunkRDD | _: CachedChunkRDD =>
      Some(PipelineFragmentExec(ChunkSourceExec(schema, rows), Nil, Nil).chunks(Json.obj().put("kind", "result")))
    case _ => None
  }

  /** Return whether a relation's batches are those of the engine; `batches` may be filtered. */
  @tailrec def areChunks(batches: RDD[_]): Boolean = batches match {
    case _: ChunkBatchRDD => true
    case _: SparkBatchRDD => false
    case other => other.dependencies match {
      case Seq(one: OneToOneDependency[_]) => areChunks(one.rdd)
      case _ => false
    }
  }
}

/** Reads chunks that an exchange or a cached relation has computed. */
case class ChunkSourceExec(output: Seq[Attribute], rows: RDD[InternalRow]) extends LeafExecNode {
  override protected def doExecute(): RDD[InternalRow] = rows
}

/** Batches in the format of Spark; the class distinguishes them in a lineage. */
class SparkBatchRDD(batches: RDD[CachedBatch]) extends RDD[CachedBatch](batches) {
  override protected def getPartitions: Array[Partition] = firstParent[CachedBatch].partitions
  override def compute(split: Partition, context: TaskContext): Iterator[CachedBatch] =
    firstParent[CachedBatch].iterator(split, context)
}

/** Splits the chunks that a worker encoded for the cache into columns, with the statistics of each. */
class ChunkBatchRDD(chunks: FragmentRDD, types: Array[DataType]) extends RDD[CachedBatch](chunks) {

  override protected def getPartitions: Array[Partition] = firstParent[InternalRow].partitions

  override def compute(split: Partition, context: TaskContext): Iterator[CachedBatch] = {
    val header = types ++ types.map(_ => LongType)
    val schema = StructType(header.map(StructField("", _)))
    val reader = new ChunkReader(schema, ArrowChunks.allocator("pysparkpipeline cache statistics"))
    context.addTaskCompletionListener[Unit](_ => reader.close())
    firstParent[InternalRow].iterator(split, context).map(row => batch(row, reader))
  }

  private def batch(row: InternalRow, reader: ChunkReader): CachedBatch = {
    val data = row.getBinary(ChunkRow.Data)
    val rows = row.getLong(ChunkRow.Rows).toInt
    val (header, start) = reader.readFirst(data)
    val statistics = new Array[Any](5 * types.length)
    val columns = new Array[Array[Byte]](types.length)
    var from = start
    types.indices.foreach { i =>
      val Seq(low, high) = Seq(0, 1).map(row => value(header.getRow(row), i))
      val nulls = header.getRow(0).getLong(types.length + i).toInt
      val bytes = header.getRow(1).getLong(types.length + i).toInt
      columns(i) = Arrays.copyOfRange(data, from, from + bytes)
      from += bytes
      Array[Any](low, high, nulls, rows, bytes.toLong).copyToArray(statistics, 5 * i)
    }
    DefaultCachedBatch(rows, columns, new GenericInternalRow(statistics))
  }

  private def value(row: InternalRow, i: Int): Any =
    if (row.isNullAt(i)) null
    else types(i) match {
      case _: TimeType => row.getLong(i) // rows of column vectors do not know the type
      case known => copied(row.get(i, known))
    }

  private def copied(value: Any): Any = value match {
    case text: UTF8String => text.copy()
    case other => other
  }
}
