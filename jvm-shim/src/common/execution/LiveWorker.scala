package org.apache.spark.sql.pysparkpipeline

import java.io.IOException
import java.nio.ByteBuffer

import scala.annotation.tailrec

import org.apache.spark.TaskContext
import org.apache.spark.api.python.PythonWorker
import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.vectorized.ColumnarBatch

/**
 * Runs a fragment in a worker that is alive. Spark's pool drops idle workers that were killed, but not all: it fails to
 * tell a daemon that was killed too about them, and takes a process that nobody waits for, as one of a killed daemon in a
 * container without an init process, to be alive. A query of Spark's own operators needs no worker and would not fail.
 */
object LiveWorker extends Logging {

  /** Every attempt takes one worker out of the pool, which has at most as many as tasks ran at a time. */
  private val MaxAttempts = 256

  class EndedException extends IOException("the idle Python worker has ended")

  /** Start `launch` over `groups`, of which a failed start reads none. */
  @tailrec
  def run(
      launch: Launch, groups: Iterator[Iterator[InternalRow]], context: TaskContext, attempt: Int = 1)
    : Iterator[ColumnarBatch] = {
    context.killTaskIfInterrupted()
    val runner = new ChunkRunner(launch)
    val started = try Right(runner.compute(groups, context.partitionId(), context)) catch {
      case e: IOException if attempt < MaxAttempts => Left(e)
    }
    // Spark's runner releases its input buffer once all input is written; in a cancelled task it never does.
    context.addTaskCompletionListener[Unit](_ => runner.closeInput())
    started match {
      case Right(batches) => batches
      case Left(error) =>
        logWarning(s"pyspark_pipeline: the task takes another Python worker: ${error.getMessage}")
        run(launch, groups, context, attempt + 1)
    }
  }

  /** Return whether the process of an idle worker has ended, which closes its end of the connection. */
  def hasEnded(worker: PythonWorker): Boolean =
    !worker.channel.isBlocking && (try worker.channel.read(ByteBuffer.allocate(1)) != 0 catch {
      case _: IOException => true
    })
}
