package org.apache.spark.sql.pysparkpipeline

import java.io.{DataOutputStream, IOException}

import scala.jdk.CollectionConverters._

import org.apache.arrow.vector.VectorSchemaRoot
import org.apache.arrow.vector.ipc.ArrowStreamWriter

import org.apache.spark.{SparkEnv, TaskContext}
import org.apache.spark.api.python.PythonWorker
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.python.ArrowPythonRunner

/** The parts of [[ChunkRunner]] that are the same for every Spark minor. */
trait FragmentRunner extends ArrowPythonRunner {

  private val messages = new ChunkMessages

  /** Write the next group of chunk rows; return false at the end of the input. */
  override protected def writeNextBatchToArrowStream(
      root: VectorSchemaRoot,
      writer: ArrowStreamWriter,
      out: DataOutputStream,
      groups: Iterator[Iterator[InternalRow]]): Boolean =
    if (groups.hasNext) {
      val before = out.size
      messages.write(groups.next().map(_.asInstanceOf[UnsafeRow]), out)
      pythonMetrics("pythonDataSent") += out.size - before
      true
    } else {
      close()
      false
    }

  /** Release the input buffer after the task. Repeatable, also after Spark released it. */
  def closeInput(): Unit = try root.close() finally allocator.close()

  /** End a worker by the key under which Spark's runner has created it. */
  protected def destroy(env: SparkEnv, worker: PythonWorker): Unit =
    env.destroyPythonWorker(
      pythonExec, FragmentWorkers.workerModule, FragmentWorkers.daemonModule, envVars.asScala.toMap, worker)

  override protected def newWriter(
      env: SparkEnv,
      worker: PythonWorker,
      input: Iterator[Iterator[InternalRow]],
      partition: Int,
      context: TaskContext): Writer = {
    if (LiveWorker.hasEnded(worker)) {
      try destroy(env, worker) catch { case _: IOException => worker.stop() } // its daemon may have ended too
      throw new LiveWorker.EndedException
    }
    FragmentWorkers.disableNagle(worker)
    super.newWriter(env, worker, input, partition, context)
  }
}
