package org.apache.spark.sql.pysparkpipeline

import com.fasterxml.jackson.databind.JsonNode

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.vectorized.{ArrowColumnVector, ColumnarBatch}

/**
 * Returns the data rows of a worker's output. Statistics messages update the metrics and the profile, an error message
 * raises. Statistics precede rows, so that they arrive even if the reader stops early: metrics as increments, the profile
 * as a whole. `countChunks` takes the number of chunks of an input that the worker has read from files, `collect` the number of a
 * node and a chunk of the buffers of its metrics.
 */
class WorkerOutput(
    batches: Iterator[ColumnarBatch],
    launch: Launch,
    expressions: Option[ExpressionServer],
    countChunks: (Int, Long) => Unit,
    collect: (Int, Array[Byte]) => Unit)
  extends Iterator[InternalRow] {

  private val writer = new ChunkRowWriter
  private var batch: ColumnarBatch = _
  private var columns: ChunkVectors = _
  private var position = 0
  private var current: InternalRow = _
  private var lastMessage: Option[JsonNode] = None
  private val slot = launch.profiles.reserve()
  Option(TaskContext.get()).foreach(_.addTaskFailureListener { (context, _) =>
    launch.profiles.fail(slot, killed = context.isInterrupted())
  })

  override def hasNext: Boolean = {
    while (current == null && advance()) {
      val i = position
      position += 1
      columns.partition.get(i) match {
        case ChunkRow.Statistics =>
          val statistics = Manifest.mapper.readTree(columns.data.get(i))
          FragmentMetrics.add(launch.metrics, statistics)
          Manifest.fields(statistics.path("chunksRead")).foreach { case (input, n) => countChunks(input.toInt, n.asLong) }
          launch.profiles.put(slot, statistics.path("profile").asText)
        case ChunkRow.Error =>
          throw ErrorBridge.exception(Manifest.mapper.readTree(columns.data.get(i)), launch.contexts, expressions)
        case ChunkRow.Metrics => collect(columns.driver.get(i), columns.data.get(i))
        case ChunkRow.Written => lastMessage = Some(Manifest.mapper.readTree(columns.data.get(i)))
        case _ => current = writer.write(columns, i)
      }
    }
    current != null
  }

  /** Read the output of a worker that writes its chunks to a file; return its message about it. */
  def written(): JsonNode = {
    if (hasNext) throw new IllegalStateException("the worker sent a chunk that it should have written")
    lastMessage.getOrElse(throw new IllegalStateException("the worker ended without a message about its output"))
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
