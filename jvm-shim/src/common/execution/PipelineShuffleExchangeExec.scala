package org.apache.spark.sql.pysparkpipeline

import scala.collection.immutable.ListMap
import scala.concurrent.Future

import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.{MapOutputStatistics, ShuffleDependency, SparkConf}
import org.apache.spark.rdd.RDD
import org.apache.spark.serializer.Serializer
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.Statistics
import org.apache.spark.sql.catalyst.plans.physical.{HashPartitioning, HashPartitioningLike, Partitioning, RangePartitioning, RoundRobinPartitioning}
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.exchange.{Exchange, ShuffleExchangeLike, ShuffleOrigin}
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics, SQLShuffleReadMetricsReporter, SQLShuffleWriteMetricsReporter}

/**
 * A shuffle exchange whose records are chunk rows: the sink of the child fragment partitions the rows, Spark's shuffle
 * transfers them. The engine computes partitions as Spark does (Murmur3, seed 42, `pmod`), so `outputPartitioning` holds
 * and any operator may read the exchange: a fragment reads the chunks, a Spark operator reads decoded rows.
 */
case class PipelineShuffleExchangeExec(
    override val outputPartitioning: Partitioning,
    child: SparkPlan,
    shuffleOrigin: ShuffleOrigin,
    advisoryPartitionSize: Option[Long]) extends Exchange with ShuffleExchangeLike {

  // The records of this shuffle are chunks; `numOutputRows` counts the rows.
  private lazy val writeMetrics = SQLShuffleWriteMetricsReporter.createShuffleWriteMetrics(sparkContext) +
    (SQLShuffleWriteMetricsReporter.SHUFFLE_RECORDS_WRITTEN -> SQLMetrics.createMetric(sparkContext, "chunks written"))
  private lazy val readMetrics = SQLShuffleReadMetricsReporter.createShuffleReadMetrics(sparkContext) +
    (SQLShuffleReadMetricsReporter.RECORDS_READ -> SQLMetrics.createMetric(sparkContext, "chunks read"))

  override lazy val metrics: Map[String, SQLMetric] = ListMap(
    "numOutputRows" -> SQLMetrics.createMetric(sparkContext, "number of output rows"),
    "dataSize" -> SQLMetrics.createSizeMetric(sparkContext, "data size"),
    "numPartitions" -> SQLMetrics.createMetric(sparkContext, "number of partitions")) ++ writeMetrics ++ readMetrics

  override def nodeName: String = "PipelineExchange"

  override def supportsRowBased: Boolean = true

  private lazy val serializer: Serializer = new UnsafeRowSerializer(ChunkRow.NumFields, longMetric("dataSize"))

  @transient lazy val inputRDD: FragmentRDD = Fusion.fragment(child).chunks(sink)

  /** A captured task has its chunks themselves, so that it can be replayed. */
  private def usesFiles: Boolean =
    Settings.flag(conf, "exchange.workerFiles") && Settings.text(conf, "capture.folder").isEmpty

  private def sink: ObjectNode = {
    val node = Json.obj().put("numPartitions", outputPartitioning.numPartitions)
    outputPartitioning match {
      case h: HashPartitioning =>
        node.put("kind", "hash").put("drivers", PipelineShuffleExchangeExec.drivers(sparkContext.conf))
        node.set[ObjectNode]("keys", Json.arr(h.expressions.map(new ExpressionJson(withContexts = false).write)))
      case r: RangePartitioning if r.numPartitions > 1 => RangeSamples.writeSink(node, Fusion.fragment(child), r)
      case _: RoundRobinPartitioning => node.put("kind", "roundRobin")
      case _ => node.put("kind", "single")
    }
  }

  @transient override lazy val mapOutputStatisticsFuture: Future[MapOutputStatistics] =
    if (inputRDD.getNumPartitions == 0) Future.successful(null)
    else sparkContext.submitMapStage(shuffleDependency)

  override def numMappers: Int = shuffleDependency.rdd.getNumPartitions

  override def numPartitions: Int = shuffleDependency.partitioner.numPartitions

  override def getShuffleRDD(partitionSpecs: Array[ShufflePartitionSpec]): RDD[InternalRow] =
    new DecodedChunkRDD(new ChunkShuffleRDD(shuffleDependency, readMetrics, partitionSpecs, usesFiles), schema)

  override def runtimeStatistics: Statistics = Statistics(
    sizeInBytes = metrics("dataSize").value,
    rowCount = Some(BigInt(metrics("numOutputRows").value)))

  override def shuffleId: Int = shuffleDependency.shuffleId

  @transient
  lazy val shuffleDependency: ShuffleDependency[Int, InternalRow, InternalRow] = {
    val rows = longMetric("numOutputRows")
    val dependency = ChunkDependency(
      new MapOutputRDD(inputRDD, rows, Repeats.of(outputPartitioning, child, conf)),
      outputPartitioning.numPartitions,
      serializer,
      new ChunkWriteProcessor(writeMetrics, rows, longMetric("dataSize"), usesFiles))
    metrics("numPartitions").set(dependency.partitioner.numPartitions)
    SQLMetrics.postDriverMetricUpdates(
      sparkContext, sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY), metrics("numPartitions") :: Nil)
    dependency
  }

  private lazy val cached = getShuffleRDD(
    Array.tabulate(numPartitions)(i => CoalescedPartitionSpec(i, i + 1)))

  override protected def doExecute(): RDD[InternalRow] = cached

  override protected def withNewChildInternal(newChild: SparkPlan): SparkPlan = copy(child = newChild)
}

object PipelineShuffleExchangeExec {
  /** Return the number of drivers of a task that reads a hash exchange: each message names one of them. */
  def drivers(conf: SparkConf): Int = conf.getInt("spark.task.cpus", 1)

  /** Return the expressions over `input` that determine the driver of a row; none if `input` assigns no drivers. */
  def driverKeys(input: SparkPlan): Seq[Expression] = input.outputPartitioning match {
    case hash: HashPartitioningLike if Convert.isInEngine(input) && !CachedScans.isRead(input) => hash.expressions
    case _ => Nil
  }
}
