package org.apache.spark.sql.pysparkpipeline

import java.util.concurrent.{ExecutionException, ExecutorService, Future, TimeUnit, TimeoutException}

import scala.concurrent.Promise
import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.spark.api.python.PythonBroadcast
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection
import org.apache.spark.sql.catalyst.plans.logical.Statistics
import org.apache.spark.sql.catalyst.plans.physical.{BroadcastMode, BroadcastPartitioning, Partitioning}
import org.apache.spark.sql.errors.QueryExecutionErrors
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan, SQLExecution}
import org.apache.spark.sql.execution.exchange.BroadcastExchangeLike
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.internal.{SQLConf, StaticSQLConf}
import org.apache.spark.util.{SparkFatalException, ThreadUtils}

/**
 * A broadcast exchange of chunks: the driver collects them and writes them to a file, Spark's broadcast for Python
 * transfers the file to the executors, and each worker process reads it at most once. Chunks of the child are not
 * decoded; the JVM encodes rows of a child that stayed in Spark.
 *
 * Any operator may read it. A fragment reads [[chunkBroadcast]]; an operator that stayed in Spark reads the relation
 * that `mode` builds from the decoded rows at the first request. AQE waits for [[relationFuture]], which returns the
 * broadcast of chunks: AQE reads its value only to detect that a null-aware anti join has no rows, which it never
 * concludes from chunks.
 *
 * Limits, errors, metrics, cancellation and timeout equal those of `BroadcastExchangeExec`.
 */
case class PipelineBroadcastExchangeExec(mode: BroadcastMode, child: SparkPlan) extends BroadcastExchangeLike {

  override lazy val metrics: Map[String, SQLMetric] = Map(
    "dataSize" -> SQLMetrics.createSizeMetric(sparkContext, "data size"),
    "numOutputRows" -> SQLMetrics.createMetric(sparkContext, "number of output rows"),
    "collectTime" -> SQLMetrics.createTimingMetric(sparkContext, "time to collect"),
    "buildTime" -> SQLMetrics.createTimingMetric(sparkContext, "time to build"),
    "broadcastTime" -> SQLMetrics.createTimingMetric(sparkContext, "time to broadcast"))

  override def nodeName: String = "PipelineBroadcastExchange"

  override def outputPartitioning: Partitioning = BroadcastPartitioning(mode)

  /** Differs from Spark's exchange over the same child, which does not broadcast chunks. */
  override protected def doCanonicalize(): SparkPlan =
    PipelineBroadcastExchangeExec(mode.canonicalized, child.canonicalized)

  override def runtimeStatistics: Statistics =
    Statistics(metrics("dataSize").value, Some(BigInt(metrics("numOutputRows").value)))

  /** Keep the metrics: the job does not run again. */
  override def resetMetrics(): Unit = ()

  @transient private lazy val promise = Promise[Broadcast[Any]]()

  @transient override lazy val completionFuture: scala.concurrent.Future[Broadcast[Any]] = promise.future

  @transient private val timeout: Long = conf.broadcastTimeout

  @transient override lazy val relationFuture: Future[Broadcast[Any]] =
    SQLExecution.withThreadLocalCaptured[Broadcast[Any]](session, PipelineBroadcastExchangeExec.executor) {
      try {
        sparkContext.addJobTag(jobTag)
        sparkContext.setInterruptOnCancel(true)
        val broadcast = broadcastChunks().asInstanceOf[Broadcast[Any]]
        promise.trySuccess(broadcast)
        broadcast
      } catch {
        case e: Throwable =>
          val known = knownError(e)
          promise.tryFailure(known)
          throw known
      }
    }

  private def broadcastChunks(): Broadcast[PythonBroadcast] = {
    val file = new BroadcastFile(sparkContext)
    val broadcast = try {
      val parts = collected(file.transfer)
      val written = timed("buildTime")(file.write(parts))
      timed("broadcastTime")(sparkContext.broadcast(written))
    } catch {
      case e: Throwable =>
        file.remove()
        throw e
    }
    postMetrics()
    broadcast
  }

  private def collected(transfer: BroadcastTransfer): Array[BroadcastPart] = {
    val parts = timed("collectTime")(PartitionFunction.run(chunkRows(), transfer.pack).map(new BroadcastPart(_)))
    val rows = parts.map(_.rows).sum
    longMetric("numOutputRows") += rows
    val maxRows = BroadcastSize.maxRows(mode)
    if (rows >= maxRows) throw QueryExecutionErrors.cannotBroadcastTableOverMaxTableRowsError(maxRows, rows)
    val size = BroadcastSize.estimate(mode, schema, rows, parts.map(_.bytes).sum)
    longMetric("dataSize") += size
    val maxSize = conf.maxBroadcastTableSizeInBytes
    if (size >= maxSize) throw QueryExecutionErrors.cannotBroadcastTableOverMaxTableBytesError(maxSize, size)
    parts
  }

  private def chunkRows(): RDD[InternalRow] = child match {
    case f: PipelineFragmentExec => f.chunks(result)
    case op if op.isInstanceOf[PipelineOperatorExec] || CachedScans.isRead(op) => Fusion.fragment(op).chunks(result)
    case other => other.execute() match {
      case decoded: DecodedChunkRDD => decoded.chunks
      case rows => new RowChunkRDD(rows, child.schema, Settings.number(conf, "batchRows").toInt)
    }
  }

  private def result = Json.obj().put("kind", "result")

  private def timed[T](metric: String)(body: => T): T = {
    val start = System.nanoTime()
    val value = body
    longMetric(metric) += TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start)
    value
  }

  private def postMetrics(): Unit = {
    val executionId = sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY)
    SQLMetrics.postDriverMetricUpdates(sparkContext, executionId, metrics.values.toSeq)
  }

  /** Return the error as Spark's threads pass it on: a fatal error inside a non-fatal one. */
  private def knownError(error: Throwable): Throwable = error match {
    case memory: OutOfMemoryError =>
      val tables = child.collect { case scan: FileSourceScanExec => scan.tableIdentifier }.flatten
      new SparkFatalException(QueryExecutionErrors.notEnoughMemoryToBuildAndBroadcastTableError(memory, tables))
    case NonFatal(other) => other
    case fatal => new SparkFatalException(fatal)
  }

  override protected def doPrepare(): Unit = relationFuture

  override protected def doExecute(): RDD[InternalRow] =
    throw QueryExecutionErrors.executeCodePathUnsupportedError(nodeName)

  /** Return the chunks for fragments; waits for the job. */
  def chunkBroadcast: Broadcast[PythonBroadcast] =
    try {
      relationFuture.get(timeout, TimeUnit.SECONDS).asInstanceOf[Broadcast[PythonBroadcast]]
    } catch {
      case late: TimeoutException =>
        cancelBroadcastJob(Some("The corresponding broadcast query has failed."))
        throw QueryExecutionErrors.executeBroadcastTimeoutError(timeout, Some(late))
      case failed: ExecutionException if failed.getCause != null => throw failed.getCause
    }

  /** The relation for operators that stayed in Spark. */
  @transient private lazy val relation: Broadcast[Any] = {
    val rows = metrics("numOutputRows").value
    val built = try {
      BroadcastFile.read(chunkBroadcast.value.path)(chunks => decoded(chunks)(mode.transform(_, Some(rows))))
    } catch {
      case memory: OutOfMemoryError => throw knownError(memory)
    }
    sparkContext.broadcastInternal[Any](built, serializedOnly = true)
  }

  private def decoded[T](chunks: Iterator[Array[Byte]])(use: Iterator[InternalRow] => T): T = {
    val reader = new ChunkReader(schema, ArrowChunks.allocator("pysparkpipeline broadcast reader"))
    val projection = UnsafeProjection.create(schema)
    try use(chunks.flatMap(reader.read(_).rowIterator().asScala.map(projection(_).copy())))
    finally reader.close()
  }

  override protected[sql] def doExecuteBroadcast[T](): Broadcast[T] = {
    chunkBroadcast // wait before taking the lock that all lazy values of this object share, including the job's
    relation.asInstanceOf[Broadcast[T]]
  }

  override protected def withNewChildInternal(newChild: SparkPlan): PipelineBroadcastExchangeExec =
    copy(child = newChild)
}

object PipelineBroadcastExchangeExec {
  /** As many threads as Spark has for its own broadcasts; Spark's pool is private. */
  private val executor: ExecutorService = ThreadUtils.newDaemonCachedThreadPool("pipeline-broadcast-exchange",
    SQLConf.get.getConf(StaticSQLConf.BROADCAST_EXCHANGE_MAX_THREAD_THRESHOLD))
}
