package org.apache.spark.sql.pysparkpipeline

import scala.collection.immutable.ListMap

import com.fasterxml.jackson.databind.JsonNode

import org.apache.spark.{SparkContext, TaskContext}
import org.apache.spark.executor.TaskMetrics
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}

/**
 * Creates and updates the SQL metrics of a fragment. The manifest lists them with their names and operators; Spark's
 * Python runner adds its own.
 */
object FragmentMetrics {

  /**
   * Metrics of Spark's runner that the UI does not show. The runner counts chunk rows as "number of output rows", and
   * counts the time since a worker's last task as the time to initialize the worker.
   */
  private val HiddenOfRunner = Set("pythonNumRowsReceived", "pythonInitTime")

  /** Create the metrics that Spark's UI shows for a fragment with these operators, in this order. */
  def shown(sc: SparkContext, operators: Set[String]): Map[String, SQLMetric] = {
    val applying = Manifest.metrics.filter(m => m.isShown && (m.operators.isEmpty || m.operators.exists(operators)))
    ListMap.from(applying.map(create(sc, _))) ++ PythonMetrics.create(sc, !HiddenOfRunner(_))
  }

  /** Create the metrics that Spark's UI does not show. */
  def hidden(sc: SparkContext): Map[String, SQLMetric] =
    Manifest.metrics.filterNot(_.isShown).map(create(sc, _)).toMap ++ PythonMetrics.create(sc, HiddenOfRunner)

  private def create(sc: SparkContext, m: Manifest.MetricSpec): (String, SQLMetric) = m.name -> (m.kind match {
    case "bytes" => SQLMetrics.createSizeMetric(sc, m.description)
    case "nanos" => SQLMetrics.createNanoTimingMetric(sc, m.description)
    case _ => SQLMetrics.createMetric(sc, m.description)
  })

  /** Add a task's statistics message to the fragment's metrics, and to Spark's metrics of the current task. */
  def add(metrics: Map[String, SQLMetric], statistics: JsonNode): Unit = {
    Option(TaskContext.get()).foreach(context => addToTask(context.taskMetrics(), statistics.path("task")))
    Manifest.fields(statistics.path("metrics")).foreach { case (name, v) =>
      metrics.get(name).foreach(_ += v.asLong)
    }
  }

  /** Send the driver's counters to Spark's UI, once per fragment, because the UI adds up all updates. */
  def postFromDriver(sc: SparkContext, metrics: Seq[SQLMetric]): Unit =
    SQLMetrics.postDriverMetricUpdates(sc, sc.getLocalProperty(SQLExecution.EXECUTION_ID_KEY), metrics)

  private def addToTask(task: TaskMetrics, counters: JsonNode): Unit = {
    task.inputMetrics.incBytesRead(counters.path("bytesRead").asLong)
    task.inputMetrics.incRecordsRead(counters.path("recordsRead").asLong)
    task.incMemoryBytesSpilled(counters.path("memoryBytesSpilled").asLong)
    task.incDiskBytesSpilled(counters.path("diskBytesSpilled").asLong)
    task.incPeakExecutionMemory(counters.path("peakExecutionMemory").asLong)
  }
}

private object PythonMetrics {
  import org.apache.spark.sql.execution.python.PythonSQLMetrics

  def create(sc: SparkContext, isSelected: String => Boolean): Map[String, SQLMetric] =
    of(PythonSQLMetrics.pythonSizeMetricsDesc, isSelected)(SQLMetrics.createSizeMetric(sc, _)) ++
      of(PythonSQLMetrics.pythonTimingMetricsDesc, isSelected)(SQLMetrics.createTimingMetric(sc, _)) ++
      of(PythonSQLMetrics.pythonOtherMetricsDesc, isSelected)(SQLMetrics.createMetric(sc, _))

  private def of(names: Map[String, String], isSelected: String => Boolean)(create: String => SQLMetric) =
    names.collect { case (name, description) if isSelected(name) => name -> create(description) }
}
