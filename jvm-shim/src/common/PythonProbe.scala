package org.apache.spark.sql.pysparkpipeline

import java.util.concurrent.{ConcurrentHashMap, TimeUnit}

import scala.io.Source
import scala.util.control.NonFatal

import org.apache.spark.SparkConf
import org.apache.spark.api.python.PythonUtils
import org.apache.spark.internal.config.EXECUTOR_CORES
import org.apache.spark.internal.config.Python.PYSPARK_EXECUTOR_MEMORY

/**
 * Looks at the Python that workers will run: its version (Spark's worker compares it with the driver's) and
 * whether the engine and what it needs are installed there. One short process per interpreter and JVM.
 */
object PythonProbe {

  private val Script =
    "import sys, importlib.util as u\n" +
      "print('%d.%d' % sys.version_info[:2])\n" +
      "print(','.join(m for m in ('pyspark', 'pyarrow', 'numpy', 'numba', 'pyspark_pipeline') " +
      "if u.find_spec(m) is None))"

  private val LeastWorkerMiB = 640

  private case class Answer(version: String, missing: Option[String])

  private val answers = new ConcurrentHashMap[String, Answer]()
  @volatile private var reported: Option[String] = None

  /** The interpreter of the workers, found as Spark finds it. */
  def executable(conf: SparkConf): String = {
    conf.getOption("spark.pyspark.python")
      .orElse(sys.env.get("PYSPARK_PYTHON"))
      .getOrElse("python3")
  }

  /** Forget what executors of an earlier context reported. */
  def reset(): Unit = reported = None

  def version(conf: SparkConf): String = ask(executable(conf)).version

  /** What the workers' Python lacks, in words; None where it can run fragments. */
  def missing(conf: SparkConf): Option[String] = ask(executable(conf)).missing.orElse(missingMemory(conf))

  /** Where Spark limits a worker's memory, its share must hold Python and its libraries, and some data. */
  private def missingMemory(conf: SparkConf): Option[String] =
    conf.get(PYSPARK_EXECUTOR_MEMORY).map(_ / conf.get(EXECUTOR_CORES)).filter(_ < LeastWorkerMiB).map { share =>
      s"${PYSPARK_EXECUTOR_MEMORY.key} gives a worker $share MiB, it needs $LeastWorkerMiB or more: Python and its " +
        "libraries take most of them"
    }

  def reportMissing(what: String): Unit = reported = Some(what)

  /** What any executor reported missing. */
  def reportedMissing: Option[String] = reported

  private def ask(python: String): Answer = answers.computeIfAbsent(python, run(_))

  private def run(python: String): Answer = {
    try {
      val builder = new ProcessBuilder(python, "-c", Script)
      val path = PythonUtils.mergePythonPaths(
        PythonUtils.sparkPythonPath, sys.env.getOrElse("PYTHONPATH", ""))
      builder.environment().put("PYTHONPATH", path)
      builder.redirectError(ProcessBuilder.Redirect.DISCARD)
      val process = builder.start()
      val lines = Source.fromInputStream(process.getInputStream, "UTF-8").getLines().toList
      process.waitFor(60, TimeUnit.SECONDS)
      lines match {
        case version :: rest if rest.mkString.trim.isEmpty => Answer(version.trim, None)
        case version :: rest =>
          Answer(version.trim, Some(s"Python $python has no ${rest.mkString.trim.replace(",", ", ")}: " +
            "install pyspark_pipeline there, or set spark.pyspark.python to one that has it"))
        case _ => Answer("", Some(s"Python $python did not answer"))
      }
    } catch {
      case NonFatal(e) => Answer("", Some(s"Python $python does not start: ${e.getMessage}"))
    }
  }
}
