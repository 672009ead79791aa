package org.apache.spark.sql.pysparkpipeline

import com.fasterxml.jackson.databind.JsonNode

import org.apache.spark.{SparkContext, TaskContext}
import org.apache.spark.executor.TaskMetrics
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}

/** SQL metrics of a fragment: which exist, and what they are called, the manifest says. */
object FragmentMetrics {

  def create(sc: SparkContext): Map[String, SQLMetric] = Manifest.metrics.map { m =>
    m.name -> (m.kind match {
      case "bytes" => SQLMetrics.createSizeMetric(sc, m.description)
      case "nanos" => SQLMetrics.createNanoTimingMetric(sc, m.description)
      case _ => SQLMetrics.createMetric(sc, m.description)
    })
  }.toMap

  /** Spark's own Python runner reports into these. */
  def ofRunner(sc: SparkContext): Map[String, SQLMetric] = PythonMetrics.create(sc)

  /** Add a task's statistics message to the fragment's metrics, and to Spark's own of the task that runs here. */
  def add(metrics: Map[String, SQLMetric], statistics: JsonNode): Unit = {
    Option(TaskContext.get()).foreach(context => addToTask(context.taskMetrics(), statistics.path("task")))
    Manifest.fields(statistics.path("metrics")).foreach { case (name, v) =>
      metrics.get(name).foreach(_ += v.asLong)
    }
  }

  private def addToTask(task: TaskMetrics, told: JsonNode): Unit = {
    task.inputMetrics.incBytesRead(told.path("bytesRead").asLong)
    task.inputMetrics.incRecordsRead(told.path("recordsRead").asLong)
    task.incMemoryBytesSpilled(told.path("memoryBytesSpilled").asLong)
    task.incDiskBytesSpilled(told.path("diskBytesSpilled").asLong)
    task.incPeakExecutionMemory(told.path("peakExecutionMemory").asLong)
  }
}

private object PythonMetrics {
  import org.apache.spark.sql.execution.python.PythonSQLMetrics

  def create(sc: SparkContext): Map[String, SQLMetric] =
    PythonSQLMetrics.pythonSizeMetricsDesc.map { case (k, v) => k -> SQLMetrics.createSizeMetric(sc, v) } ++
      PythonSQLMetrics.pythonTimingMetricsDesc.map { case (k, v) => k -> SQLMetrics.createTimingMetric(sc, v) } ++
      PythonSQLMetrics.pythonOtherMetricsDesc.map { case (k, v) => k -> SQLMetrics.createMetric(sc, v) }
}
