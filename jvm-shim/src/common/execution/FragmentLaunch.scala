package org.apache.spark.sql.pysparkpipeline

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.{JobArtifactSet, QueryContext, SparkConf, TaskContext}
import org.apache.spark.api.python.{ChainedPythonFunctions, PythonBroadcast, PythonFunction, SimplePythonFunction}
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.execution.python.ArrowPythonRunner

/** Creates the RDD of chunk rows of a planned fragment. */
object FragmentLaunch {

  def rdd(fragment: PipelineFragmentExec, sink: ObjectNode): FragmentRDD = {
    val sc = fragment.session.sparkContext
    val conf = fragment.conf
    val root = Fusion.withSubqueryResults(fragment.root, fragment.subqueryExpressions)
    val layout = new FragmentLayout(root)
    val json = new PlanJson(fragment.number, layout, conf)
    val broadcasts = layout.ofKind(NodeKind.Broadcast).flatMap(n => BroadcastChunks.of(n.plan)).map(_.chunkBroadcast)
    val whole = json.write(sink)
    whole.set[ObjectNode]("broadcasts", Manifest.mapper.valueToTree[JsonNode](broadcasts.map(_.id).toArray))
    if (Placement.isRead(fragment)) whole.put("ordered", true)
    Redaction.withoutCapture(whole, root, conf)
    val text = PlanJson.text(whole)
    val batchRows = Settings.number(conf, "batchRows").toInt
    val inputs = layout.ofKind(NodeKind.Input).map(_.plan).map(input => input -> input.execute()).map {
      case (_, decoded: DecodedChunkRDD) => decoded.chunks
      case (_, cached: CachedChunkRDD) => cached.chunks
      case (input, rows) => new RowChunkRDD(rows, input.schema, batchRows)
    }
    val listings = if (RangeSamples.isSample(sink)) Map.empty[String, SQLMetric] else fragment.scanMetrics
    val scans = layout.ofKind(NodeKind.Scan).map(_.plan).map(op => OperatorRules.ofSource(op).parts(op, listings))
    FragmentMetrics.postFromDriver(sc, listings.values.toSeq)
    val assignments = TaskAssignments.of(layout, scans, inputs, sc).toArray
    val launch = Launch(
      functions = Seq(ChainedPythonFunctions(Seq(
        function(sc.conf, "fragment_function", text, broadcasts, layout.pythonFunctions)))) -> fragment.number.toLong,
      timeZone = conf.sessionLocalTimeZone,
      runnerConf = ArrowPythonRunner.getPythonRunnerConfMap(conf),
      metrics = fragment.metrics ++ fragment.hiddenMetrics,
      profiles = fragment.profiles,
      nodeCounts = layout.countByKey,
      inputOrder = layout.readOrder,
      contexts = json.contexts,
      collectors = MetricBuffers.collectors(layout, fragment.observations),
      instances = assignments.length,
      isParallel = PipelineShuffleExchangeExec.drivers(sc.conf) > 1,
      artifacts = if (layout.pythonFunctions.isEmpty) None else JobArtifactSet.getCurrentJobArtifactState.map(_.uuid),
      jvmCalls = json.jvmCalls,
      sqlSettings = if (json.jvmCalls.isEmpty) Map.empty else conf.getAllConfs.filter(_._1.startsWith("spark.sql.")))
    new FragmentRDD(sc, launch, assignments, inputs)
  }

  /**
   * Return the entry point `name` of workers as a pickled call, which needs no Python driver. The worker gets what the
   * user's functions that it calls need: their modules, broadcast variables and accumulators.
   */
  def function(
      conf: SparkConf,
      name: String,
      fragment: String = "",
      broadcasts: Seq[Broadcast[PythonBroadcast]] = Nil,
      called: Seq[PythonFunction] = Nil): PythonFunction = {
    val read = (broadcasts ++ called.flatMap(_.broadcastVars.asScala)).distinctBy(_.id)
    SimplePythonFunction(
      PickledCall.command("pyspark_pipeline.spark.entry", name, fragment, ChunkRow.schema.json).toSeq,
      new java.util.HashMap[String, String](), // WorkerPython.adapted sets the executor's variables
      new java.util.ArrayList(called.flatMap(_.pythonIncludes.asScala).distinct.asJava),
      PythonInterpreter.ofDriver(conf),
      "",
      new java.util.ArrayList(read.asJava),
      called.map(_.accumulator).find(_ != null).orNull)
  }
}

/**
 * The parameters of all tasks of a fragment. Messages of a result have at most `maxRows` rows if it is above 0. If Spark
 * caches the result, `cache` has the codec of its columns, if any. `collectors` take the metrics by the number of the node. `artifacts` is the id of the session whose files and
 * modules the user's functions read, if it has its own. `jvmCalls` are computed with the session's settings `sqlSettings`.
 */
case class Launch(
    functions: (Seq[ChainedPythonFunctions], Long),
    timeZone: String,
    runnerConf: Map[String, String],
    metrics: Map[String, SQLMetric],
    profiles: Profiles,
    nodeCounts: Map[String, Int],
    inputOrder: Seq[Int],
    contexts: Array[QueryContext],
    instances: Int,
    isParallel: Boolean,
    collectors: Map[Int, MetricsCollector] = Map.empty,
    artifacts: Option[String] = None,
    maxRows: Int = 0,
    cache: Option[Option[String]] = None,
    jvmCalls: Array[JvmCall] = Array.empty,
    sqlSettings: Map[String, String] = Map.empty) {

  /** Return the launch adapted to the Python of the executor that runs the task. */
  def on(context: TaskContext): Launch = copy(functions = WorkerPython.adapted(functions._1, context) -> functions._2)
}
