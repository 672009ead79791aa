package org.apache.spark.sql.pysparkpipeline

import java.net.StandardSocketOptions.TCP_NODELAY

import scala.util.control.NonFatal

import org.apache.spark.SparkEnv
import org.apache.spark.api.python.PythonWorker
import org.apache.spark.internal.config.Python.{PYTHON_DAEMON_MODULE, PYTHON_WORKER_MODULE}

/**
 * The Python workers that run fragments. Spark keeps one pool of workers per daemon module, so a daemon module of our
 * own leaves the pool, the daemon and the sockets of the user's functions unchanged. Measurements and limits:
 * `docs/decisions/worker-daemon.md`.
 */
object FragmentWorkers {

  private val OwnDaemon = "pyspark_pipeline.spark.daemon"

  /** Return the module that forks the workers of fragments: the user's if one is set, else ours. */
  def daemonModule: String = SparkEnv.get.conf.get(PYTHON_DAEMON_MODULE).getOrElse(OwnDaemon)

  /** Return the module that a worker of fragments runs: the user's if one is set, else Spark's. */
  def workerModule: String = SparkEnv.get.conf.get(PYTHON_WORKER_MODULE).getOrElse("pyspark.worker")

  /**
   * Send every message to a worker at once. By default TCP delays a small message until the receiver acknowledges the
   * previous one, which the receiver does after 40 ms.
   */
  def disableNagle(worker: PythonWorker): Unit = {
    val channel = worker.channel
    try {
      if (channel.supportedOptions().contains(TCP_NODELAY)) channel.setOption[java.lang.Boolean](TCP_NODELAY, true)
    } catch {
      case NonFatal(_) => // a closed channel fails at its next use, with Spark's own error
    }
  }
}
