package org.apache.spark.sql.pysparkpipeline

import java.io.ByteArrayOutputStream
import java.nio.channels.Channels

import scala.jdk.CollectionConverters._

import org.apache.arrow.vector.ipc.WriteChannel
import org.apache.arrow.vector.ipc.message.{ArrowRecordBatch, MessageSerializer}

import org.apache.spark.{Partition, TaskContext}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, UnsafeProjection}
import org.apache.spark.sql.columnar.CachedBatch
import org.apache.spark.sql.execution.columnar.DefaultCachedBatch
import org.apache.spark.sql.types.DataType

/** Decodes the selected columns of cached chunks into rows, for an operator that stayed in Spark; a fragment reads `chunks`. */
class CachedChunkRDD(cached: RDD[CachedBatch], ordinals: Array[Int], types: Array[DataType])
  extends RDD[InternalRow](cached) {

  /** Return the chunk rows of the selected columns, for a fragment. */
  def chunks: RDD[InternalRow] = new CachedColumnsRDD(cached, ordinals)

  override protected def getPartitions: Array[Partition] = firstParent[CachedBatch].partitions

  override def compute(split: Partition, context: TaskContext): Iterator[InternalRow] = {
    val reader = new CachedColumnReader(types, ArrowChunks.allocator("pysparkpipeline cache reader"))
    context.addTaskCompletionListener[Unit](_ => reader.close())
    val projection = UnsafeProjection.create(types)
    firstParent[CachedBatch].iterator(split, context).flatMap { case batch: DefaultCachedBatch =>
      reader.read(ordinals.map(batch.buffers(_)), batch.numRows).rowIterator().asScala.map(projection)
    }
  }
}

object CachedChunkRDD {
  def apply(batches: RDD[CachedBatch], cached: Seq[Attribute], selected: Seq[Attribute]): CachedChunkRDD = {
    val ids = cached.map(_.exprId)
    new CachedChunkRDD(batches, selected.map(a => ids.indexOf(a.exprId)).toArray, selected.map(_.dataType).toArray)
  }
}

/** The chunk rows of the selected columns: their streams one after another; without columns an empty record batch. */
class CachedColumnsRDD(batches: RDD[CachedBatch], ordinals: Array[Int]) extends RDD[InternalRow](batches) {

  override protected def getPartitions: Array[Partition] = firstParent[CachedBatch].partitions

  override def compute(split: Partition, context: TaskContext): Iterator[InternalRow] = {
    val writer = new ChunkRowWriter
    firstParent[CachedBatch].iterator(split, context).zipWithIndex.map { case (batch: DefaultCachedBatch, sequence) =>
      val streams = if (ordinals.isEmpty) Seq(rowsOnly(batch.numRows)) else ordinals.toSeq.map(batch.buffers(_))
      writer.write(0, -1, context.partitionId(), sequence, batch.numRows, streams: _*)
    }
  }

  private def rowsOnly(rows: Int): Array[Byte] = {
    val batch = new ArrowRecordBatch(rows, Nil.asJava, Nil.asJava)
    val out = new ByteArrayOutputStream()
    try MessageSerializer.serialize(new WriteChannel(Channels.newChannel(out)), batch) finally batch.close()
    out.toByteArray
  }
}
