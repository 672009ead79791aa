package org.apache.spark.sql.pysparkpipeline

import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.internal.Logging
import org.apache.spark.scheduler.{SparkListener, SparkListenerEvent}
import org.apache.spark.sql.execution.{QueryExecution, SparkPlan}
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd

/** Returns reports to callers outside the JVM. */
object PlanReport {
  def json(plan: SparkPlan): String = Report.of(plan).json
  def text(plan: SparkPlan): String = Report.text(plan)
  def profiles(plan: SparkPlan): String = Profiles.json(plan)

  /** Return the plan that workers get of each fragment, and its pipelines as explain shows them; subqueries are NULL. */
  def wire(plan: SparkPlan): String = Json.arr(Report.of(plan).fragments.map { f =>
    val root = Fusion.withNullSubqueries(f.root)
    val node = new PlanJson(f.number, new FragmentLayout(root), f.conf).write(Json.obj().put("kind", "result"))
    val entry = Json.obj()
    entry.set[ObjectNode]("pipelines", Json.arr(f.pipelines.map(Json.text)))
    entry.set[ObjectNode]("plan", node)
    entry
  }).toString
}

/**
 * Logs one line per query. It is no `QueryExecutionListener`, which Spark loads by name when a session opens: a session of
 * the Thrift server opens in a thread whose class loader does not see `--jars`.
 */
class QueryLog extends SparkListener with Logging {

  override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
    case end: SparkListenerSQLExecutionEnd if end.executionName.isDefined && end.qe != null =>
      write(end.qe, end.executionFailure.fold("")(error => s" (failed: ${error.getClass.getSimpleName})"))
    case _ =>
  }

  private def write(qe: QueryExecution, suffix: String): Unit = {
    try {
      val conf = qe.sparkSession.sessionState.conf
      if (Settings.flag(conf, "enabled")) {
        val line = s"pyspark_pipeline: ${Report.of(qe.executedPlan).line}$suffix"
        Settings.text(conf, "explain.logLevel") match {
          case "warn" => logWarning(line)
          case "info" => logInfo(line)
          case "debug" => logDebug(line)
          case _ =>
        }
      }
    } catch {
      case e: Throwable if Defects.isDefect(e) => logDebug("no summary of the query", e) // else Spark stops
    }
  }
}
