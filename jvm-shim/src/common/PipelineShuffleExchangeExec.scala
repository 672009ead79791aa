package org.apache.spark.sql.pysparkpipeline

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
import org.apache.spark.sql.execution.exchange.{Exchange, ShuffleExchangeExec, ShuffleExchangeLike, ShuffleOrigin}
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics, SQLShuffleReadMetricsReporter, SQLShuffleWriteMetricsReporter}

/**
 * A shuffle exchange whose records are chunk rows: the sink inside the child fragment partitions, Spark's
 * shuffle carries. Placement is Spark's own (Murmur3, seed 42, `pmod`), so `outputPartitioning` is true and
 * anyone may read it: a fragment takes the chunks as they are, any other operator gets decoded rows.
 */
case class PipelineShuffleExchangeExec(
    override val outputPartitioning: Partitioning,
    child: SparkPlan,
    shuffleOrigin: ShuffleOrigin,
    advisoryPartitionSize: Option[Long]) extends Exchange with ShuffleExchangeLike {

  private lazy val writeMetrics = SQLShuffleWriteMetricsReporter.createShuffleWriteMetrics(sparkContext)
  private lazy val readMetrics = SQLShuffleReadMetricsReporter.createShuffleReadMetrics(sparkContext)

  override lazy val metrics: Map[String, SQLMetric] = Map(
    "dataSize" -> SQLMetrics.createSizeMetric(sparkContext, "data size"),
    "numOutputRows" -> SQLMetrics.createMetric(sparkContext, "number of output rows"),
    "numPartitions" -> SQLMetrics.createMetric(sparkContext, "number of partitions"),
    "numChunks" -> SQLMetrics.createMetric(sparkContext, "chunks sent")) ++ readMetrics ++ writeMetrics

  override def nodeName: String = "PipelineExchange"

  override def supportsRowBased: Boolean = true

  private lazy val serializer: Serializer = new UnsafeRowSerializer(ChunkRow.NumFields, longMetric("dataSize"))

  @transient lazy val inputRDD: RDD[InternalRow] = Fusion.fragment(child).chunks(sink)

  private def sink: ObjectNode = {
    val node = Json.obj().put("numPartitions", outputPartitioning.numPartitions)
    outputPartitioning match {
      case h: HashPartitioning =>
        node.put("kind", "hash").put("drivers", PipelineShuffleExchangeExec.drivers(sparkContext.conf))
        node.set[ObjectNode]("keys", Json.arr(h.expressions.map(new ExpressionJson(withContexts = false).write)))
      case r: RangePartitioning if r.numPartitions > 1 => RangeSamples.put(node, Fusion.fragment(child), r)
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
    new DecodedChunkRDD(new ShuffledRowRDD(shuffleDependency, readMetrics, partitionSpecs), schema)

  override def runtimeStatistics: Statistics = Statistics(
    sizeInBytes = metrics("dataSize").value,
    rowCount = Some(BigInt(metrics("numOutputRows").value)))

  override def shuffleId: Int = shuffleDependency.shuffleId

  @transient
  lazy val shuffleDependency: ShuffleDependency[Int, InternalRow, InternalRow] = {
    val rows = longMetric("numOutputRows")
    val chunks = longMetric("numChunks")
    // Which rows a round robin sends where depends on the order they come in: Spark must know, to retry right.
    val isOrderSensitive = outputPartitioning.isInstanceOf[RoundRobinPartitioning]
    val keyed = inputRDD.mapPartitionsWithIndexInternal((_, iterator) =>
      iterator.map { row =>
        rows += row.getLong(ChunkRow.Rows)
        chunks += 1
        (row.getInt(ChunkRow.Partition), row): Product2[Int, InternalRow]
      }, isOrderSensitive = isOrderSensitive)
    val dependency = ChunkDependency(
      keyed, outputPartitioning.numPartitions, serializer, ShuffleExchangeExec.createShuffleWriteProcessor(writeMetrics))
    metrics("numPartitions").set(dependency.partitioner.numPartitions)
    SQLMetrics.postDriverMetricUpdates(
      sparkContext, sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY), metrics("numPartitions") :: Nil)
    dependency
  }

  private lazy val cached = new DecodedChunkRDD(new ShuffledRowRDD(shuffleDependency, readMetrics), schema)

  override protected def doExecute(): RDD[InternalRow] = cached

  override protected def withNewChildInternal(newChild: SparkPlan): SparkPlan = copy(child = newChild)
}

object PipelineShuffleExchangeExec {
  /** The parallelism of the tasks that read a hash exchange: its messages name one of so many drivers. */
  def drivers(conf: SparkConf): Int = conf.getInt("spark.task.cpus", 1)

  /** The expressions that decide the driver of a row, over what `input` gives; none where it names no drivers. */
  def dealtBy(input: SparkPlan): Seq[Expression] = input.outputPartitioning match {
    case hash: HashPartitioningLike if Wrapping.isInEngine(input) => hash.expressions
    case _ => Nil
  }
}
