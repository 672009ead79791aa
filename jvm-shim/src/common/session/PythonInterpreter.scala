package org.apache.spark.sql.pysparkpipeline

import scala.jdk.CollectionConverters._

import org.apache.spark.SparkConf

/**
 * Finds the interpreter that Spark runs Python functions with, and its environment variables. The driver chooses the
 * interpreter; executors use the same.
 */
object PythonInterpreter {

  /** The property that `pyspark_pipeline.install` sets in a driver's JVM if `PYSPARK_PYTHON` was set after the JVM started. */
  val Property = "pysparkpipeline.python"

  private val HashSeed = "PYTHONHASHSEED"

  private val Setting = "spark.pyspark.python"

  /** Return whether a Python program started this JVM (`pyspark/java_gateway.py` sets the variable). */
  private def isChildOfPython: Boolean = sys.env.contains("_PYSPARK_DRIVER_CONN_INFO_PATH")

  /**
   * Return the interpreter of the application. `SparkContext.pythonExec` is the program's `PYSPARK_PYTHON`;
   * spark-submit sets that variable from the setting (Spark's `PythonRunner`), a plain Python program does not change it.
   */
  def ofDriver(conf: SparkConf): String = {
    val setting = conf.getOption(Setting)
    val variable = sys.env.get("PYSPARK_PYTHON").filter(_.nonEmpty)
    sys.props.get(Property)
      .orElse(if (isChildOfPython) variable.orElse(setting) else setting.orElse(variable))
      .getOrElse("python3")
  }

  /** Return the variables that the user sets for executors; Spark sets them for each worker too. */
  def environment(conf: SparkConf): Map[String, String] = conf.getExecutorEnv.toMap

  /** Return the variables of a worker that has `packages` on its path. As in Spark, all workers hash strings alike. */
  def environment(conf: SparkConf, packages: Seq[String]): java.util.Map[String, String] = {
    val own = Map(HashSeed -> sys.env.getOrElse(HashSeed, "0")) ++ environment(conf)
    val path = (packages ++ own.get("PYTHONPATH")).mkString(java.io.File.pathSeparator)
    new java.util.HashMap((if (path.isEmpty) own else own + ("PYTHONPATH" -> path)).asJava)
  }
}
