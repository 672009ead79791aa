package org.apache.spark.sql.pysparkpipeline

import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.{Partition, ShuffleDependency, SparkEnv, TaskContext}
import org.apache.spark.network.buffer.FileSegmentManagedBuffer
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLShuffleReadMetricsReporter}
import org.apache.spark.storage.{BlockId, ShuffleBlockBatchId, ShuffleBlockId}

/**
 * The chunk rows of a shuffle, by Spark's reader. Where all blocks of a partition are files of this executor, `files`
 * returns their places instead, and the worker reads them.
 */
class ChunkShuffleRDD(
    dependency: ShuffleDependency[Int, InternalRow, InternalRow],
    readMetrics: Map[String, SQLMetric],
    @transient private val specs: Array[ShufflePartitionSpec],
    isEnabled: Boolean)
  extends ShuffledRowRDD(dependency, readMetrics, specs) {

  private val shuffle = dependency.shuffleId

  override def getPartitions: Array[Partition] =
    super.getPartitions.zip(specs).map { case (split, spec) => new ChunkShufflePartition(split, spec) }

  override def getPreferredLocations(split: Partition): Seq[String] = super.getPreferredLocations(spark(split))

  override def compute(split: Partition, context: TaskContext): Iterator[InternalRow] =
    super.compute(spark(split), context)

  private def spark(split: Partition): Partition = split.asInstanceOf[ChunkShufflePartition].of

  /** Return a row that names the blocks of a partition; the chunk rows themselves if their files are not all here. */
  def files(split: Partition, context: TaskContext): Iterator[InternalRow] = {
    val isRead = isEnabled && MapFiles.areRead() && !dependency.shuffleMergeEnabled // where the tracker names merged blocks
    val blocks = if (isRead) localBlocks(split.asInstanceOf[ChunkShufflePartition].spec) else None
    blocks match {
      case Some(found) =>
        count(found, context)
        if (found.isEmpty) Iterator.empty else Iterator.single(message(found))
      case None => iterator(split, context)
    }
  }

  private def localBlocks(spec: ShufflePartitionSpec): Option[Seq[LocalBlock]] = {
    val (firstMap, endMap, firstReduce, endReduce) = spec match {
      case CoalescedPartitionSpec(first, end, _) => (0, Int.MaxValue, first, end)
      case PartialReducerPartitionSpec(reducer, first, end, _) => (first, end, reducer, reducer + 1)
      case PartialMapperPartitionSpec(map, first, end) => (map, map + 1, first, end)
      case CoalescedMapperPartitionSpec(first, end, reducers) => (first, end, 0, reducers)
    }
    val env = SparkEnv.get
    val own = env.blockManager.blockManagerId.executorId
    val sources = env.mapOutputTracker
      .getMapSizesByExecutorId(shuffle, firstMap, endMap, firstReduce, endReduce).toSeq
    if (!sources.forall(_._1.executorId == own)) None
    else {
      val blocks = sources.flatMap(_._2).groupBy(_._3).toSeq.sortBy(_._1).map {
        case (mapIndex, ofTask) => merged(mapIndex, ofTask.map(_._1))
      }
      val resolved = blocks.flatMap(located)
      if (resolved.length == blocks.length) Some(resolved) else None
    }
  }

  /** Return the one block of all blocks of a map task, which are next to each other in its file. */
  private def merged(mapIndex: Int, blocks: Seq[BlockId]): (Int, ShuffleBlockBatchId) = {
    val single = blocks.collect { case block: ShuffleBlockId => block }
    mapIndex -> ShuffleBlockBatchId(shuffle, single.head.mapId, single.map(_.reduceId).min, single.map(_.reduceId).max + 1)
  }

  /** Return where a block is; None leaves it to Spark's reader, also to report that it is missing. */
  private def located(block: (Int, ShuffleBlockBatchId)): Option[LocalBlock] = {
    val (mapIndex, id) = block
    try MapFiles.manager.shuffleBlockResolver.getBlockData(id, None) match {
      case segment: FileSegmentManagedBuffer => Some(LocalBlock(mapIndex, id, segment))
      case _ => None
    } catch {
      case _: java.io.IOException => None
    }
  }

  private def count(blocks: Seq[LocalBlock], context: TaskContext): Unit = report(context) { reporter =>
    reporter.incLocalBlocksFetched(blocks.length)
    reporter.incLocalBytesRead(blocks.map(_.segment.getLength).sum)
  }

  /** Count chunks that the worker has read from files. */
  def countChunks(chunks: Long, context: TaskContext): Unit = report(context)(_.incRecordsRead(chunks))

  private def report(context: TaskContext)(add: SQLShuffleReadMetricsReporter => Unit): Unit = {
    add(new SQLShuffleReadMetricsReporter(context.taskMetrics().createTempShuffleReadMetrics(), readMetrics))
    context.taskMetrics().mergeShuffleReadMetrics()
  }

  private def message(blocks: Seq[LocalBlock]): InternalRow = {
    val node = MapFiles.stream().put("shuffle", shuffle)
    val list = node.putArray("blocks")
    blocks.foreach(block => list.add(block.json))
    new ChunkRowWriter().write(0, ChunkRow.Blocks, 0, 0L, 0L, Manifest.mapper.writeValueAsBytes(node))
  }
}

/** A partition of [[ChunkShuffleRDD]]: that of Spark's RDD, and what it reads. */
private class ChunkShufflePartition(val of: Partition, val spec: ShufflePartitionSpec) extends Partition {
  override def index: Int = of.index
}

/** A part of a file of this executor's shuffle: the blocks of neighboring partitions of one map task. */
private case class LocalBlock(mapIndex: Int, id: ShuffleBlockBatchId, segment: FileSegmentManagedBuffer) {
  def json: ObjectNode = Json.obj()
    .put("path", segment.getFile.getAbsolutePath).put("offset", segment.getOffset).put("length", segment.getLength)
    .put("map", id.mapId).put("mapIndex", mapIndex).put("reduce", id.startReduceId)
}
