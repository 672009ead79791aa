package org.apache.spark.sql.pysparkpipeline

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark._
import org.apache.spark.api.python.{ChainedPythonFunctions, PythonBroadcast, PythonFunction, SimplePythonFunction}
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.rdd.{DeterministicLevel, RDD}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.{FileSourceScanExec, RangeExec}
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.vectorized.{ArrowColumnVector, ColumnarBatch}

/** Turns a planned fragment into an RDD of chunk rows. */
object FragmentLaunch {

  def rdd(fragment: PipelineFragmentExec, sink: ObjectNode): FragmentRDD = {
    val sc = fragment.session.sparkContext
    val conf = fragment.conf
    val root = Fusion.settled(fragment.root, fragment.subqueryExpressions)
    val json = new PlanJson(fragment.id, root, conf)
    val broadcasts = BroadcastChunks.inputs(root)
    val whole = json.write(sink)
    whole.set[ObjectNode]("broadcasts", Manifest.mapper.valueToTree[JsonNode](broadcasts.map(_.id).toArray))
    val text = Manifest.mapper.writeValueAsString(whole)
    val batchRows = Settings.number(conf, "batchRows").toInt
    val streamed = Fusion.inputs(root).filterNot(BroadcastChunks.isBroadcast)
    val inputs = streamed.map(input => input -> input.execute()).map {
      case (_, decoded: DecodedChunkRDD) => decoded.chunks
      case (input, rows) => new RowChunkRDD(rows, input.schema, batchRows)
    }
    val scans = Fusion.operators(root).map(_.original).collect {
      case scan: FileSourceScanExec => ScanParts.of(scan, fragment.scanMetrics)
      case range: RangeExec => rangeParts(range)
    }
    val shares = Shares.of(root, scans, inputs.map(_.getNumPartitions)).toArray
    val launch = Launch(
      functions = Seq(ChainedPythonFunctions(Seq(function(sc.conf, text, broadcasts)))) -> fragment.id.toLong,
      timeZone = conf.sessionLocalTimeZone,
      runnerConf = VersionShim.runnerConf(conf),
      metrics = fragment.metrics,
      profiles = fragment.profiles,
      inputOrder = Fusion.streamOrder(root),
      contexts = json.contexts,
      instances = shares.length,
      isParallel = PipelineShuffleExchangeExec.drivers(sc.conf) > 1)
    new FragmentRDD(sc, launch, shares, inputs)
  }

  /** A range's slices (first number, count, step), cut as Spark cuts them. */
  private def rangeParts(range: RangeExec): Array[ScanPart] = {
    val slices = if (range.isEmptyRange) 0 else range.numSlices
    def element(i: Int): BigInt = i * range.numElements / slices
    Array.tabulate(slices) { i =>
      val first = element(i) * range.step + range.start
      ScanPart(s"[$first,${element(i + 1) - element(i)},${range.step}]", Nil)
    }
  }

  /** The worker's entry point as a pickled call, so that no Python driver is needed to make it. */
  private def function(
      conf: SparkConf, fragment: String, broadcasts: Seq[Broadcast[PythonBroadcast]]): PythonFunction = {
    val python = PythonProbe.executable(conf)
    SimplePythonFunction(
      PickledCall.command("pyspark_pipeline.spark.worker", "FragmentFunction", fragment, ChunkRow.schema.json).toSeq,
      new java.util.HashMap[String, String](),
      new java.util.ArrayList[String](),
      python,
      PythonProbe.version(conf),
      new java.util.ArrayList(broadcasts.distinctBy(_.id).asJava),
      null)
  }
}

/** What a task needs besides its inputs; messages of a result have `maxRows` rows at most, where it is above 0. */
case class Launch(
    functions: (Seq[ChainedPythonFunctions], Long),
    timeZone: String,
    runnerConf: Map[String, String],
    metrics: Map[String, SQLMetric],
    profiles: Profiles,
    inputOrder: Seq[Int],
    contexts: Array[QueryContext],
    instances: Int,
    isParallel: Boolean,
    maxRows: Int = 0)

class FragmentPartition(override val index: Int, val share: Share, val inputs: Map[Int, Partition]) extends Partition

/** Runs one fragment instance a partition in a Python worker; its rows are chunk rows with data only. */
class FragmentRDD(
    sc: SparkContext,
    launch: Launch,
    @transient private val shares: Array[Share],
    private var inputs: Seq[RDD[InternalRow]])
  extends RDD[InternalRow](sc, inputs.zipWithIndex.map { case (input, number) =>
    new ShareDependency(input, number, shares.map(_.inputs.get(number)))
  }) {

  /** The same with messages of at most `maxRows` rows; of any number where that is not above 0. */
  def cut(maxRows: Int): FragmentRDD = new FragmentRDD(context, launch.copy(maxRows = maxRows), shares, inputs)

  override protected def getPartitions: Array[Partition] = shares.zipWithIndex.map { case (share, i) =>
    new FragmentPartition(i, share, share.inputs.map { case (number, p) => number -> inputs(number).partitions(p) })
  }

  override protected def getPreferredLocations(split: Partition): Seq[String] =
    split.asInstanceOf[FragmentPartition].share.scans.values.toSeq.flatMap(_.locations).distinct

  /** Several drivers give their chunks in the order they happen to run; Spark must know, to retry right. */
  override protected def getOutputDeterministicLevel: DeterministicLevel.Value = {
    val level = super.getOutputDeterministicLevel
    if (level == DeterministicLevel.DETERMINATE && launch.isParallel) DeterministicLevel.UNORDERED else level
  }

  override def clearDependencies(): Unit = {
    super.clearDependencies()
    inputs = Nil
  }

  override def compute(split: Partition, context: TaskContext): Iterator[InternalRow] = {
    val part = split.asInstanceOf[FragmentPartition]
    val control = new ChunkRowWriter().write(ChunkRow.Control, 0, 0, 0L, 0L, controlMessage(part, context))
    val data = launch.inputOrder.iterator.flatMap { i =>
      val parent = dependencies(i).rdd.asInstanceOf[RDD[InternalRow]]
      part.inputs.get(i).iterator.flatMap(parent.iterator(_, context)).map { row =>
        row.setInt(ChunkRow.Partition, i)
        row
      }
    }
    val rows = Iterator.single[InternalRow](control) ++ data
    val runner = new ChunkRunner(launch)
    // Spark's runner lets go of its input buffer once all input is written: of a task that is cancelled, never.
    context.addTaskCompletionListener[Unit](_ => runner.closeInput())
    val groups = new RowGroups(new InterruptibleIterator(context, rows))
    new WorkerOutput(runner.compute(groups, context.partitionId(), context), launch)
  }

  private def controlMessage(part: FragmentPartition, context: TaskContext): Array[Byte] = {
    val node = Json.obj()
      .put("partition", part.index).put("instances", launch.instances)
      .put("stage", context.stageId()).put("attempt", context.attemptNumber())
      .put("taskAttempt", context.taskAttemptId()).put("cpus", context.cpus())
    node.set[ObjectNode]("inputOrder", Manifest.mapper.valueToTree[JsonNode](launch.inputOrder.toArray))
    val splits = Json.obj()
    part.share.scans.foreach { case (i, s) =>
      splits.set[ObjectNode](i.toString, Manifest.mapper.readTree(s.splits))
    }
    node.set[ObjectNode]("splits", splits)
    if (part.share.scans.nonEmpty) node.set[ObjectNode]("calendar", HybridCalendar.json)
    val branches = Json.obj()
    part.share.branches.foreach { case (union, child) => branches.put(union.toString, child) }
    node.set[ObjectNode]("branches", branches)
    if (launch.maxRows > 0) node.put("maxRows", launch.maxRows)
    Manifest.mapper.writeValueAsBytes(node)
  }
}

/** Rows of an operator that stayed in Spark, as chunk rows. */
class RowChunkRDD(rows: RDD[InternalRow], schema: org.apache.spark.sql.types.StructType, batchRows: Int)
  extends RDD[InternalRow](rows) {
  override protected def getPartitions: Array[Partition] = firstParent[InternalRow].partitions
  override def compute(split: Partition, context: TaskContext): Iterator[InternalRow] =
    new RowChunkIterator(firstParent[InternalRow].iterator(split, context), schema, batchRows, context)
}

/** Groups chunk rows into the Arrow batches that carry them to the worker: few, but bounded in bytes. */
class RowGroups(rows: Iterator[InternalRow]) extends Iterator[Iterator[InternalRow]] {
  private val maxBytes = 4L << 20
  private val maxRows = 256

  override def hasNext: Boolean = rows.hasNext

  override def next(): Iterator[InternalRow] = new Iterator[InternalRow] {
    private var bytes = 0L
    private var count = 0
    override def hasNext: Boolean = count == 0 || (bytes < maxBytes && count < maxRows && rows.hasNext)
    override def next(): InternalRow = {
      val row = rows.next()
      bytes += row.asInstanceOf[UnsafeRow].getSizeInBytes
      count += 1
      // Spark's runner takes one struct column: the row itself.
      InternalRow(row)
    }
  }
}

/**
 * The data rows of a worker's output; its statistics go to the metrics, an error is raised. Statistics come before
 * rows, so that they arrive where the reader stops early: of metrics what was added since, of the profile all.
 */
class WorkerOutput(batches: Iterator[ColumnarBatch], launch: Launch) extends Iterator[InternalRow] {
  private val writer = new ChunkRowWriter
  private var batch: ColumnarBatch = _
  private var columns: ChunkVectors = _
  private var position = 0
  private var current: InternalRow = _
  private val place = launch.profiles.reserve()
  Option(TaskContext.get()).foreach(_.addTaskFailureListener { (context, _) =>
    launch.profiles.fail(place, killed = context.isInterrupted())
  })

  override def hasNext: Boolean = {
    while (current == null && advance()) {
      val i = position
      position += 1
      columns.partition.get(i) match {
        case ChunkRow.Statistics =>
          val statistics = Manifest.mapper.readTree(columns.data.get(i))
          FragmentMetrics.add(launch.metrics, statistics)
          launch.profiles.put(place, statistics.path("profile").asText)
        case ChunkRow.Error =>
          throw ErrorBridge.exception(Manifest.mapper.readTree(columns.data.get(i)), launch.contexts)
        case _ => current = writer.write(columns, i)
      }
    }
    current != null
  }

  private def advance(): Boolean = {
    while ((batch == null || position >= batch.numRows()) && batches.hasNext) {
      batch = batches.next()
      columns = new ChunkVectors(batch.column(0).asInstanceOf[ArrowColumnVector])
      position = 0
    }
    batch != null && position < batch.numRows()
  }

  override def next(): InternalRow = {
    if (!hasNext) throw new NoSuchElementException("no more chunks")
    val row = current
    current = null
    row
  }
}

/** A pickle of `(module.name(text), return type)`: what Spark's worker reads as a function and its type. */
object PickledCall {
  def command(module: String, name: String, text: String, typeJson: String): Array[Byte] = {
    val out = new java.io.ByteArrayOutputStream()
    def op(code: Char): Unit = out.write(code.toInt)
    def global(m: String, n: String): Unit = out.write(s"c$m\n$n\n".getBytes("UTF-8"))
    def string(s: String): Unit = {
      val bytes = s.getBytes("UTF-8")
      op('X')
      out.write(java.nio.ByteBuffer.allocate(4).order(java.nio.ByteOrder.LITTLE_ENDIAN).putInt(bytes.length).array())
      out.write(bytes)
    }
    def applyToOne(): Unit = { out.write(0x85); op('R') }
    out.write(0x80)
    out.write(2)
    global(module, name)
    string(text)
    applyToOne()
    global("pyspark.sql.types", "_parse_datatype_json_string")
    string(typeJson)
    applyToOne()
    out.write(0x86)
    op('.')
    out.toByteArray
  }
}
