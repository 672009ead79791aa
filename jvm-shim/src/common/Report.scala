package org.apache.spark.sql.pysparkpipeline

import scala.collection.mutable
import scala.collection.mutable.ArrayBuffer

import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.internal.Logging
import org.apache.spark.sql.ExtendedExplainGenerator

import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive._
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec
import org.apache.spark.sql.execution.command.{DataWritingCommandExec, ExecutedCommandExec}
import org.apache.spark.sql.execution.exchange.{BroadcastExchangeLike, ReusedExchangeExec}
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.util.QueryExecutionListener

/** What of a plan runs in the engine: operators converted of all, transitions, reasons, fragments. */
case class Report(operators: Int, converted: Int, transitions: Int, reasons: Seq[(String, String)],
    fragments: Seq[PipelineFragmentExec], cached: Seq[SparkPlan]) {

  /** The fragments, and those that made what the plan reads from caches. */
  def fragmentsAndCached: Seq[PipelineFragmentExec] = fragments ++ cached.flatMap(Report.of(_).fragmentsAndCached)

  def line: String = {
    val first = reasons.map { case (node, why) => s"$node: $why" }.distinct.take(3)
    s"$converted of $operators operators in pipelines, $transitions transition(s)" +
      (if (first.isEmpty) "" else first.mkString("; stayed in Spark: ", "; ", ""))
  }

  def json: String = {
    val node = Json.obj().put("operators", operators).put("converted", converted).put("transitions", transitions)
    node.set[ObjectNode]("reasons", Json.arr(reasons.map { case (n, why) => Json.text(s"$n: $why") }.distinct))
    node.set[ObjectNode]("fragments", Json.arr(fragments.map { f =>
      val entry = Json.obj().put("id", f.id)
      entry.set[ObjectNode]("pipelines", Json.arr(Pipelines.of(f.root).map(Json.text)))
      val values = Json.obj()
      f.metrics.foreach { case (name, m) => values.put(name, m.value) }
      entry.set[ObjectNode]("metrics", values)
      entry
    }))
    node.toString
  }
}

object Report {

  /** The report of a physical plan, or of the plan AQE ended with. */
  def of(plan: SparkPlan): Report = {
    val counter = new Counter
    counter.visit(plan, insideEngine = false)
    counter.transitions += (if (Counter.endsInEngine(plan)) 1 else 0)
    Report(counter.operators, counter.converted, counter.transitions, counter.reasons.toSeq, counter.fragments.toSeq,
      counter.cached.toSeq)
  }

  def text(plan: SparkPlan): String = {
    val report = of(plan)
    val lines = ArrayBuffer(report.line)
    report.fragments.foreach { f =>
      lines += s"fragment ${f.id}"
      Pipelines.of(f.root).zipWithIndex.foreach { case (text, i) => lines += s"  pipeline $i: $text" }
    }
    if (report.reasons.nonEmpty) lines += "stayed in Spark"
    report.reasons.distinct.foreach { case (node, why) => lines += s"  $node: $why" }
    lines.mkString("\n")
  }
}

private class Counter {
  var operators = 0
  var converted = 0
  var transitions = 0
  val reasons = ArrayBuffer.empty[(String, String)]
  val fragments = ArrayBuffer.empty[PipelineFragmentExec]
  val cached = ArrayBuffer.empty[SparkPlan]
  private val exchanges = mutable.Set.empty[Int]

  /** Count `plan`; `insideEngine` says whether its consumer takes chunks. */
  def visit(plan: SparkPlan, insideEngine: Boolean): Unit = {
    reason(plan)
    plan match {
      case a: AdaptiveSparkPlanExec => visit(Fusion(a.executedPlan), insideEngine)
      case s: QueryStageExec => visit(s.plan, insideEngine)
      case reused: ReusedExchangeExec => if (Wrapping.isInEngine(reused)) {
        if (!insideEngine) transitions += 1
        visit(reused.child, insideEngine = true) // AQE may keep but this reference to what a join waited for
      }
      case f: PipelineFragmentExec =>
        fragments += f
        val ops = Fusion.operators(f.root)
        add(ops.length, ops.length)
        ops.foreach(op => subqueries(op.original))
        f.children.foreach { input =>
          if (!Wrapping.isInEngine(input)) transitions += 1
          visit(input, insideEngine = true)
        }
      case op: PipelineOperatorExec =>
        add(1, 1)
        subqueries(op.original)
        op.children.foreach { input =>
          if (!Wrapping.isInEngine(input)) transitions += 1
          visit(input, insideEngine = true)
        }
      case e @ (_: PipelineShuffleExchangeExec | _: PipelineBroadcastExchangeExec) =>
        if (exchanges.add(e.id)) { // it may be read in several places
          add(1, 1)
          visit(e.children.head, insideEngine = true)
        }
      case top: PipelineTakeOrderedExec => // its part in the engine is counted for it
        transitions += 1
        visit(top.original.child, insideEngine = false)
      case _: PipelineText =>
      case w if Counter.isWrapper(w) => w.children.foreach(visit(_, insideEngine))
      case other =>
        other match {
          case scan: InMemoryTableScanExec => cached += scan.relation.cachedPlan
          case _ =>
        }
        add(1, 0)
        subqueries(other)
        other.children.foreach { child =>
          if (Counter.endsInEngine(child)) transitions += 1
          visit(child, insideEngine = false)
        }
    }
  }

  private def add(all: Int, moved: Int): Unit = {
    operators += all
    converted += moved
  }

  private def subqueries(plan: SparkPlan): Unit =
    plan.expressions.flatMap(ExpressionJson.subqueries).foreach(s => s.plan match {
      case r: ReusedSubqueryExec =>
      case q => q.children.foreach { child =>
        if (Counter.endsInEngine(child)) transitions += 1
        visit(child, insideEngine = false)
      }
    })

  private def reason(plan: SparkPlan): Unit =
    plan.getTagValue(Conversion.Reason).foreach(why => reasons += (plan.nodeName.trim -> why))
}

private object Counter {
  def isWrapper(plan: SparkPlan): Boolean = plan match {
    case _: WholeStageCodegenExec | _: InputAdapter | _: AQEShuffleReadExec | _: ColumnarToRowExec |
        _: RowToColumnarExec | _: CommandResultExec | _: ExecutedCommandExec | _: DataWritingCommandExec |
        _: BaseSubqueryExec | _: ResultQueryStageExec => true
    case _ => false
  }

  /** Whether the rows of `plan` come out of the engine. */
  def endsInEngine(plan: SparkPlan): Boolean = plan match {
    case a: AdaptiveSparkPlanExec => endsInEngine(a.executedPlan)
    case w if isWrapper(w) && w.children.length == 1 => endsInEngine(w.children.head)
    case other => Wrapping.isInEngine(other)
  }
}

/** The report for callers outside the JVM. */
object PlanReport {
  def json(plan: SparkPlan): String = Report.of(plan).json
  def text(plan: SparkPlan): String = Report.text(plan)
  def profiles(plan: SparkPlan): String = Profiles.json(plan)
}

/** Spark's extended explain: `spark.sql.extendedExplainProviders`. */
class PipelineExplain extends ExtendedExplainGenerator {
  override def title: String = "Pipelines"
  override def generateExtendedInfo(plan: SparkPlan): String = Report.text(plan)
}

/** One log line a query. */
class QueryLog extends QueryExecutionListener with Logging {

  override def onSuccess(funcName: String, qe: QueryExecution, durationNs: Long): Unit = write(qe, "")

  override def onFailure(funcName: String, qe: QueryExecution, exception: Exception): Unit =
    write(qe, s" (failed: ${exception.getClass.getSimpleName})")

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
      case scala.util.control.NonFatal(e) => logDebug("no summary of the query", e)
    }
  }
}
