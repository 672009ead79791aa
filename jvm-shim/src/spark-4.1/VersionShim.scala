package org.apache.spark.sql.pysparkpipeline

import java.io.DataInputStream
import java.util.concurrent.atomic.AtomicBoolean

import org.apache.spark.{SparkEnv, TaskContext}
import org.apache.spark.api.python.{PythonEvalType, PythonWorker}
import org.apache.spark.sql.execution.SampleExec
import org.apache.spark.sql.execution.python.ArrowPythonRunner
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{StructField, StructType}
import org.apache.spark.sql.vectorized.ColumnarBatch

/** Runs the launch's function over groups of chunk rows by Spark's Arrow map evaluation; for Spark 4.1. */
class ChunkRunner(launch: Launch)
  extends ArrowPythonRunner(
    Seq(launch.functions._1.head -> launch.functions._2), PythonEvalType.SQL_MAP_ARROW_ITER_UDF,
    Array(Array(0)), StructType(Array(StructField("struct", ChunkRow.schema))), launch.timeZone, false,
    launch.runnerConf, launch.metrics, launch.artifacts, None, None)
  with FragmentRunner {

  /** These override accessors of private members of Spark's runner; the Scala compiler chose the names. */
  def `org$apache$spark$api$python$BasePythonRunner$$daemonModule`: String = FragmentWorkers.daemonModule
  def `org$apache$spark$api$python$BasePythonRunner$$workerModule`: String = FragmentWorkers.workerModule

  override protected def newReaderIterator(
      stream: DataInputStream,
      writer: Writer,
      startTime: Long,
      env: SparkEnv,
      worker: PythonWorker,
      handle: Option[Int],
      released: AtomicBoolean,
      context: TaskContext): Iterator[ColumnarBatch] = {
    KilledTasks.watch(context, released)(destroy(env, worker))
    super.newReaderIterator(stream, writer, startTime, env, worker, handle, released, context)
  }
}

/** Returns the seed of a sample. */
object SampleSeed {
  def of(op: SampleExec): Long = op.seed
}

/** Return whether metrics of `Dataset.observe` count the rows of all attempts of a task. 4.1 counts all. */
object ObservedAttempts {
  def areAllCounted(conf: SQLConf): Boolean = true
}
