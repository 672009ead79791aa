package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.api.python.PythonEvalType
import org.apache.spark.sql.execution.python.ArrowPythonRunner
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{StructField, StructType}

/** What differs between Spark minors, for Spark 4.3. */
object VersionShim {

  def runnerConf(conf: SQLConf): Map[String, String] = ArrowPythonRunner.getPythonRunnerConfMap(conf)
}

/** Spark's Arrow map evaluation of the launch's function over groups of chunk rows. */
class ChunkRunner(launch: Launch)
  extends ArrowPythonRunner(
    Seq(launch.functions._1.head -> launch.functions._2), PythonEvalType.SQL_MAP_ARROW_ITER_UDF,
    Array(Array(0)), StructType(Array(StructField("struct", ChunkRow.schema))), launch.timeZone, false,
    launch.runnerConf, launch.metrics, None, None) {

  /** Let go of the input buffer when the task has ended. Repeatable, also after Spark did. */
  def closeInput(): Unit = try root.close() finally allocator.close()
}
