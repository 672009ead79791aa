package org.apache.spark.sql.pysparkpipeline

import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.{SparkConf, SparkEnv, SparkException, TaskContext, TaskKilledException}
import org.apache.spark.api.python.{ChainedPythonFunctions, SimplePythonFunction}
import org.apache.spark.internal.config.EXECUTOR_CORES
import org.apache.spark.internal.config.Python.{PYSPARK_EXECUTOR_MEMORY, PYTHON_USE_DAEMON}
import org.apache.spark.util.Utils

/** Checks whether this JVM's Python can run fragments, and adapts a fragment's function to that Python. */
object WorkerPython {

  private val LeastWorkerMiB = 640
  private val MostRefusals = 20

  private val probes = new ConcurrentHashMap[(String, Seq[String], Map[String, String], Boolean), PythonProbe]()

  /** Return the probe of `python` in this JVM, which `imports` the engine or only finds it; start one if there is none. */
  def probe(conf: SparkConf, python: String, imports: Boolean): PythonProbe = {
    val packages = PyFiles.packages(conf)
    val environment = PythonInterpreter.environment(conf)
    probes.computeIfAbsent((python, packages, environment, imports), _ => new PythonProbe(python, packages, environment, imports))
  }

  /** Drop the probes of Pythons that could not run fragments: the user may have repaired them since. */
  def reset(): Unit = probes.values().removeIf(!_.mayRun)

  /** Return the reason why the settings of the application do not suit the workers of fragments; None if they do. */
  def unsuitedSettings(conf: SparkConf): Option[String] = missingMemory(conf).orElse(
    Option.when(!conf.get(PYTHON_USE_DAEMON))(s"${PYTHON_USE_DAEMON.key}=false starts a new Python for every task, " +
      "which takes longer than most tasks"))

  /** A worker must hold Python, its libraries and some data within the limit that Spark sets. */
  private def missingMemory(conf: SparkConf): Option[String] =
    conf.get(PYSPARK_EXECUTOR_MEMORY).map(_ / conf.get(EXECUTOR_CORES)).filter(_ < LeastWorkerMiB).map { share =>
      s"${PYSPARK_EXECUTOR_MEMORY.key} gives a worker $share MiB, it needs $LeastWorkerMiB or more: Python and its " +
        "libraries take most of them"
    }

  private def isDriver: Boolean = SparkEnv.get.executorId == "driver"

  /** Return this JVM's name for messages. */
  def place: String = s"executor ${SparkEnv.get.executorId} on ${Utils.localHostName()}"

  /** Adapt `functions` to this executor's Python: set its version, and add the packages of `--py-files` to its path. */
  def adapted(functions: Seq[ChainedPythonFunctions], context: TaskContext): Seq[ChainedPythonFunctions] = {
    val conf = SparkEnv.get.conf
    functions.map(chain => ChainedPythonFunctions(chain.funcs.map {
      case function: SimplePythonFunction =>
        val probe = this.probe(conf, function.pythonExec, imports = !isDriver) // the driver's imports: LocalPython
        probe.obstacle.foreach(refuse(_, context))
        val found = probe.first.getOrElse(PythonProbe.Found("", needsPackages = false))
        val packages = if (found.needsPackages) PyFiles.packages(conf) else Nil
        val variables = PythonInterpreter.environment(conf, packages)
        TimeZoneFile.path.foreach(variables.put(TimeZoneFile.Variable, _))
        function.copy(envVars = variables, pythonVer = found.version)
      case other => other
    }))
  }

  /**
   * Return the task to the scheduler for another executor, without counting it as failed: this executor started after
   * the query was planned. The task keeps its slot for longer than Spark waits for a task's preferred location, and
   * longer with each attempt, so that the scheduler offers the task to the other executors. After too many attempts
   * the task fails.
   */
  private def refuse(reason: String, context: TaskContext): Unit = {
    val message = s"pyspark_pipeline cannot run on $place: $reason"
    val attempt = context.attemptNumber()
    if (isDriver || attempt >= MostRefusals) throw new SparkException(message)
    val pause = SparkEnv.get.conf.getTimeAsMs("spark.locality.wait", "3s") + 1000
    Thread.sleep(pause + pause * attempt / 4)
    throw new TaskKilledException(message)
  }
}
