package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.{Partitioner, ShuffleDependency, SparkEnv}
import org.apache.spark.rdd.RDD
import org.apache.spark.serializer.Serializer
import org.apache.spark.shuffle.{ShuffleHandle, ShuffleWriteProcessor}
import org.apache.spark.shuffle.sort.{SerializedShuffleHandle, SortShuffleManager}
import org.apache.spark.sql.catalyst.InternalRow

object ChunkDependency {

  /** Up to this many partitions one file per partition is cheap. */
  private val FewPartitions = 8

  def apply(
      rows: RDD[Product2[Int, InternalRow]],
      partitions: Int,
      serializer: Serializer,
      processor: ShuffleWriteProcessor): ShuffleDependency[Int, InternalRow, InternalRow] = {
    val partitioner = new ChunkPartitioner(partitions)
    if (partitions > FewPartitions && SparkEnv.get.shuffleManager.getClass == classOf[SortShuffleManager]) {
      new SortedChunkDependency(rows, partitioner, serializer, processor)
    } else {
      new ShuffleDependency[Int, InternalRow, InternalRow](
        rows, partitioner, serializer, shuffleWriterProcessor = processor)
    }
  }
}

/**
 * Makes Spark's shuffle sort the rows of a map task by partition even if there are so few partitions (200) that it
 * would write one file per partition: a task has few chunks, and opening the files would dominate.
 */
private class SortedChunkDependency(
    rows: RDD[Product2[Int, InternalRow]],
    partitioner: Partitioner,
    serializer: Serializer,
    processor: ShuffleWriteProcessor)
  extends ShuffleDependency[Int, InternalRow, InternalRow](
    rows, partitioner, serializer, shuffleWriterProcessor = processor) {

  override val shuffleHandle: ShuffleHandle = new SerializedShuffleHandle[Int, InternalRow](shuffleId, this)
}

/** Returns the key, which is the partition that the sink chose. */
class ChunkPartitioner(override val numPartitions: Int) extends Partitioner {
  override def getPartition(key: Any): Int = key.asInstanceOf[Int]
  override def equals(other: Any): Boolean = other match {
    case p: ChunkPartitioner => p.numPartitions == numPartitions
    case _ => false
  }
  override def hashCode: Int = numPartitions
}
