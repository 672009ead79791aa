package org.apache.spark.sql.pysparkpipeline

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark._
import org.apache.spark.rdd.{DeterministicLevel, RDD}
import org.apache.spark.sql.catalyst.InternalRow

/** Runs one fragment instance per partition in a Python worker; its rows are chunk rows that contain data. */
class FragmentRDD(
    sc: SparkContext,
    launch: Launch,
    parts: Array[TaskAssignment],
    streams: Seq[RDD[InternalRow]])
  extends AssignedRDD(sc, parts, streams) {

  /** Return the RDD with messages of at most `maxRows` rows; 0 or less sets no limit. */
  def withMaxRows(maxRows: Int): FragmentRDD = new FragmentRDD(context, launch.copy(maxRows = maxRows), assignments, inputs)

  /** Return the RDD with its chunks in the form of Spark's cache, of at most `maxRows` rows if that is above 0. */
  def forCache(codec: Option[String], maxRows: Int): FragmentRDD =
    new FragmentRDD(context, launch.copy(maxRows = maxRows, cache = Some(codec)), assignments, inputs)

  /** The chunks of several drivers have no fixed order; Spark must know this to retry correctly. */
  override protected def getOutputDeterministicLevel: DeterministicLevel.Value = {
    val level = super.getOutputDeterministicLevel
    if (level == DeterministicLevel.DETERMINATE && launch.isParallel) DeterministicLevel.UNORDERED else level
  }

  override def compute(split: Partition, context: TaskContext): Iterator[InternalRow] = output(split, context, None)

  /** Run the instance of a partition; its worker writes the chunks to `file`. Return what it wrote. */
  def write(split: Partition, context: TaskContext, file: ObjectNode): JsonNode =
    output(split, context, Some("mapFile" -> file)).written()

  /** Run the instance of a partition, whose worker writes files into the folder `staging`. */
  def stageFiles(split: Partition, context: TaskContext, staging: StagingFolder): Iterator[InternalRow] =
    output(split, context, Some("staging" -> Json.text(staging.folder.getAbsolutePath)))

  private def output(split: Partition, context: TaskContext, property: Option[(String, JsonNode)]): WorkerOutput = {
    val part = split.asInstanceOf[FragmentPartition]
    val message = controlMessage(part, context)
    property.foreach { case (name, value) => message.set[ObjectNode](name, value) }
    val expressions = if (launch.jvmCalls.isEmpty) None else Some(new ExpressionServer(
      launch.jvmCalls, launch.sqlSettings, context, launch.metrics("jvmExpressionRows"), launch.metrics("jvmExpressionTime")))
    expressions.foreach(server => message.set[ObjectNode]("expressions", server.control))
    val control = new ChunkRowWriter()
      .write(ChunkRow.Control, 0, 0, 0L, 0L, Manifest.mapper.writeValueAsBytes(message))
    val data = launch.inputOrder.iterator.flatMap { i =>
      val parent = dependencies(i).rdd.asInstanceOf[RDD[InternalRow]]
      part.inputs.getOrElse(i, Nil).iterator.flatMap(chunks(parent, _, context)).map { row =>
        row.setInt(ChunkRow.Partition, i)
        row
      }
    }
    val rows = Iterator.single[InternalRow](control) ++ data
    val groups = new RowGroups(new InterruptibleIterator(context, rows))
    new WorkerOutput(LiveWorker.run(launch.on(context), groups, context), launch, expressions, (input, chunks) =>
      dependencies(input).rdd match {
        case shuffle: ChunkShuffleRDD => shuffle.countChunks(chunks, context)
      }, (number, buffers) => launch.collectors(number).add(buffers, split, context))
  }

  private def chunks(input: RDD[InternalRow], split: Partition, context: TaskContext): Iterator[InternalRow] = input match {
    case shuffle: ChunkShuffleRDD => shuffle.files(split, context)
    case _ => input.iterator(split, context)
  }

  private def controlMessage(part: FragmentPartition, context: TaskContext): ObjectNode = {
    val node = Json.obj().put("version", PlanJson.Version)
      .put("partition", part.index).put("instances", launch.instances)
      .put("stage", context.stageId()).put("attempt", context.attemptNumber())
      .put("taskAttempt", context.taskAttemptId()).put("cpus", context.cpus())
    val counts = Json.obj()
    launch.nodeCounts.foreach { case (key, count) => counts.put(key, count) }
    node.set[ObjectNode]("counts", counts)
    node.set[ObjectNode]("inputOrder", Manifest.mapper.valueToTree[JsonNode](launch.inputOrder.toArray))
    val splits = Json.obj()
    part.assignment.scans.foreach { case (i, s) =>
      splits.set[ObjectNode](i.toString, Manifest.mapper.readTree(s.splits))
    }
    node.set[ObjectNode]("splits", splits)
    if (part.assignment.scans.nonEmpty) node.set[ObjectNode]("calendar", HybridCalendar.json)
    node.set[ObjectNode]("branches", byNumber(part.assignment.branches))
    node.set[ObjectNode]("partitions", byNumber(part.assignment.partitions))
    if (launch.maxRows > 0) node.put("maxRows", launch.maxRows)
    launch.cache.foreach(codec => node.set[ObjectNode]("cache", Json.obj().put("codec", codec.orNull)))
    node
  }

  private def byNumber(values: Map[Int, Int]): ObjectNode = {
    val node = Json.obj()
    values.foreach { case (number, value) => node.put(number.toString, value) }
    node
  }
}
