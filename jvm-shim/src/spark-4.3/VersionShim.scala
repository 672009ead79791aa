package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.api.python.PythonEvalType
import org.apache.spark.sql.execution.SampleExec
import org.apache.spark.sql.execution.python.ArrowPythonRunner
import org.apache.spark.sql.types.{StructField, StructType}

/** Runs the launch's function over groups of chunk rows by Spark's Arrow map evaluation; for Spark 4.3. */
class ChunkRunner(launch: Launch)
  extends ArrowPythonRunner(
    Seq(launch.functions._1.head -> launch.functions._2), PythonEvalType.SQL_MAP_ARROW_ITER_UDF,
    Array(Array(0)), StructType(Array(StructField("struct", ChunkRow.schema))), launch.timeZone, false,
    launch.runnerConf, launch.metrics, None, None)
  with FragmentRunner {

  /** Overrides the accessor of a private member of Spark's runner; the Scala compiler chose the name. */
  def `org$apache$spark$api$python$BasePythonRunner$$daemonModule`: String = FragmentWorkers.daemonModule
}

/** Returns the seed of a sample. 4.3 draws one for each operator if the user gave none. */
object SampleSeed {
  def of(op: SampleExec): Long = op.resolvedSeed
}
