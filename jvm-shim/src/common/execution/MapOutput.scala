package org.apache.spark.sql.pysparkpipeline

import java.io.File

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.{Partition, ShuffleDependency, SparkConf, SparkEnv, TaskContext}
import org.apache.spark.internal.config
import org.apache.spark.rdd.{DeterministicLevel, RDD}
import org.apache.spark.scheduler.MapStatus
import org.apache.spark.shuffle.{ShuffleWriteMetricsReporter, ShuffleWriteProcessor}
import org.apache.spark.shuffle.sort.SortShuffleManager
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLShuffleWriteMetricsReporter}

/**
 * The map side of a shuffle of chunks. Its partitions are [[MapOutput]]s, which either return pairs of a destination and
 * a chunk row, or let the worker write them to a file. `rows` counts the rows in the pairs. `repeats` tells Spark what a
 * retry of a task returns.
 */
class MapOutputRDD(fragment: FragmentRDD, rows: SQLMetric, repeats: Repeats)
  extends RDD[Product2[Int, InternalRow]](fragment) {

  override protected def getPartitions: Array[Partition] = firstParent[InternalRow].partitions

  override def compute(split: Partition, context: TaskContext): Iterator[Product2[Int, InternalRow]] =
    new MapOutput(firstParent[InternalRow].asInstanceOf[FragmentRDD], split, context, rows)

  override protected def getOutputDeterministicLevel: DeterministicLevel.Value =
    if (repeats == Repeats.Never) DeterministicLevel.INDETERMINATE
    else if (repeats == Repeats.InOrder && super.getOutputDeterministicLevel == DeterministicLevel.UNORDERED) {
      DeterministicLevel.INDETERMINATE
    } else super.getOutputDeterministicLevel
}

/** The output of one map task; the worker starts when the first pair is asked for, or by `write`. */
class MapOutput(fragment: FragmentRDD, split: Partition, context: TaskContext, rows: SQLMetric)
  extends Iterator[Product2[Int, InternalRow]] {

  private lazy val chunks = fragment.iterator(split, context)

  override def hasNext: Boolean = chunks.hasNext

  override def next(): Product2[Int, InternalRow] = {
    val row = chunks.next()
    rows += row.getLong(ChunkRow.Rows)
    (row.getInt(ChunkRow.Partition), row)
  }

  def write(file: ObjectNode): JsonNode = fragment.write(split, context, file)
}

/**
 * Lets the worker write the data file of a map task, where Spark's own shuffle would write it to a local disk; then
 * commits it as Spark's shuffle does. Everything else of the shuffle is Spark's: the file has the same form. If Spark is
 * configured otherwise, Spark writes it.
 */
class ChunkWriteProcessor(
    metrics: Map[String, SQLMetric], rows: SQLMetric, dataSize: SQLMetric, isEnabled: Boolean)
  extends ShuffleWriteProcessor {

  override protected def createMetricsReporter(context: TaskContext): ShuffleWriteMetricsReporter =
    new SQLShuffleWriteMetricsReporter(context.taskMetrics().shuffleWriteMetrics, metrics)

  override def write(
      inputs: Iterator[_],
      dependency: ShuffleDependency[_, _, _],
      mapId: Long,
      mapIndex: Int,
      context: TaskContext): MapStatus = inputs match {
    case output: MapOutput if isEnabled && MapFiles.areWritten(dependency) => writeFile(output, dependency, mapId, context)
    case _ => super.write(inputs, dependency, mapId, mapIndex, context)
  }

  private def writeFile(
      output: MapOutput, dependency: ShuffleDependency[_, _, _], mapId: Long, context: TaskContext): MapStatus = {
    val reporter = createMetricsReporter(context)
    val manager = MapFiles.manager
    val resolver = manager.shuffleBlockResolver
    val shuffle = dependency.shuffleId
    // By its writer the manager learns of the map task, whose files it removes with the shuffle.
    val writer = manager.getWriter[Any, Any](dependency.shuffleHandle, mapId, context, reporter)
    val file = resolver.createTempFile(resolver.getDataFile(shuffle, mapId))
    try {
      // The worker makes no file: that of a failed task may run on after the file has been removed.
      file.createNewFile()
      val written = output.write(MapFiles.describe(file, dependency.partitioner.numPartitions))
      val lengths = longs(written.get("lengths"))
      resolver.writeMetadataFileAndCommit(
        shuffle, mapId, lengths, longs(written.get("checksums")), if (lengths.sum > 0) file else null)
      rows += written.get("rows").asLong
      dataSize += written.get("bytes").asLong
      reporter.incRecordsWritten(written.get("records").asLong)
      reporter.incBytesWritten(lengths.sum)
      reporter.incWriteTime(written.get("ns").asLong)
      MapStatus(SparkEnv.get.blockManager.shuffleServerId, lengths, mapId)
    } finally {
      file.delete()
      writer.stop(false)
    }
  }

  private def longs(values: JsonNode): Array[Long] = values.elements().asScala.map(_.asLong).toArray
}

object MapFiles {

  /** Codecs whose streams the worker writes. */
  private val Codecs = Set("lz4", "zstd")
  /** Checksums that the worker computes. */
  private val Checksums = Set("ADLER32", "CRC32")

  /** Return whether workers write the output of this shuffle: Spark's would be a plain file in a local directory. */
  def areWritten(dependency: ShuffleDependency[_, _, _]): Boolean =
    areRead() && !dependency.shuffleMergeEnabled && checksum(SparkEnv.get.conf).forall(Checksums)

  /** Return whether workers can read the files of shuffles. */
  def areRead(): Boolean = {
    val env = SparkEnv.get
    val conf = env.conf
    env.shuffleManager.getClass == classOf[SortShuffleManager] &&
      conf.get(config.SHUFFLE_IO_PLUGIN_CLASS) == config.SHUFFLE_IO_PLUGIN_CLASS.defaultValueString &&
      !conf.get(config.IO_ENCRYPTION_ENABLED) &&
      codec(conf).forall(Codecs)
  }

  /** Return Spark's manager of a shuffle whose files workers write or read. */
  def manager: SortShuffleManager = SparkEnv.get.shuffleManager.asInstanceOf[SortShuffleManager]

  /** Return the description of the streams in map files for the worker. */
  def stream(): ObjectNode = Json.obj().put("codec", codec(SparkEnv.get.conf).orNull)

  /** Return the description of a map file for the worker. */
  def describe(file: File, partitions: Int): ObjectNode =
    stream().put("path", file.getAbsolutePath).put("partitions", partitions)
      .put("checksum", checksum(SparkEnv.get.conf).orNull)

  private def codec(conf: SparkConf): Option[String] =
    if (conf.get(config.SHUFFLE_COMPRESS)) Some(conf.get(config.IO_COMPRESSION_CODEC)) else None

  private def checksum(conf: SparkConf): Option[String] =
    if (conf.get(config.SHUFFLE_CHECKSUM_ENABLED)) Some(conf.get(config.SHUFFLE_CHECKSUM_ALGORITHM)) else None
}
