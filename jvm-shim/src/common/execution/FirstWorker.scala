package org.apache.spark.sql.pysparkpipeline

import scala.util.control.NonFatal

import org.apache.spark.{SparkContext, TaskContext}
import org.apache.spark.api.python.ChainedPythonFunctions
import org.apache.spark.internal.Logging
import org.apache.spark.internal.config.CPUS_PER_TASK
import org.apache.spark.internal.config.Python.{PYSPARK_EXECUTOR_MEMORY, PYTHON_USE_DAEMON, PYTHON_WORKER_REUSE}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.python.ArrowPythonRunner
import org.apache.spark.sql.internal.SQLConf

/**
 * Starts the daemon and the first worker of fragments ahead of the first query, which would wait for their imports
 * (about a second). With a local master only ([[LocalPython]]): elsewhere the first task of each executor starts them.
 *
 * It runs an empty function by the runner of fragments, so the worker enters the pool under the key of fragments.
 */
object FirstWorker extends Logging {

  /** Return whether a worker outlives its task, and the key of its pool does not depend on the task. */
  def mayStart(sc: SparkContext): Boolean =
    sc.conf.get(PYTHON_USE_DAEMON) && sc.conf.get(PYTHON_WORKER_REUSE) &&
      sc.conf.get(PYSPARK_EXECUTOR_MEMORY).isEmpty && sc.conf.get(CPUS_PER_TASK) == 1

  /** Start the first worker; return whether it has run its function. */
  def start(sc: SparkContext): Boolean = {
    val conf = new SQLConf
    sc.conf.getAll.foreach { case (key, value) => conf.setConfString(key, value) }
    SQLConf.withExistingConf(conf)(start(sc, conf))
  }

  private def start(sc: SparkContext, conf: SQLConf): Boolean = {
    val context = TaskContext.empty()
    try {
      val function = FragmentLaunch.function(sc.conf, "empty_function")
      val launch = Launch(
        functions = Seq(ChainedPythonFunctions(Seq(function))) -> 0L,
        timeZone = conf.sessionLocalTimeZone,
        runnerConf = ArrowPythonRunner.getPythonRunnerConfMap(conf),
        metrics = PythonMetrics.create(sc, _ => true),
        profiles = null,
        nodeCounts = Map.empty,
        inputOrder = Nil,
        contexts = Array.empty,
        instances = 1,
        isParallel = false)
      val runner = new ChunkRunner(launch.on(context))
      try if (!sc.isStopped) runner.compute(Iterator.empty, 0, context).foreach(_ => ()) finally runner.closeInput()
      true
    } catch {
      case NonFatal(e) =>
        logInfo("pyspark_pipeline: the first worker failed", e)
        false
    } finally {
      context.markTaskCompleted(None)
    }
  }
}
