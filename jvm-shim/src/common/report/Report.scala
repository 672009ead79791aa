package org.apache.spark.sql.pysparkpipeline

import scala.collection.mutable.ArrayBuffer

import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.sql.execution.SparkPlan

/**
 * Counts the operators of a plan, the converted ones and the transitions, and lists the decisions about converted
 * operators, the reasons against others, and the fragments.
 */
case class Report(operators: Int, converted: Int, transitions: Int, decisions: Seq[(String, String)],
    reasons: Seq[(String, String)], fragments: Seq[PipelineFragmentExec], cached: Seq[SparkPlan]) {

  /** Return the fragments of the plan and of the cached plans that it reads. */
  def fragmentsAndCached: Seq[PipelineFragmentExec] = fragments ++ cached.flatMap(Report.of(_).fragmentsAndCached)

  def line: String = {
    val first = reasons.map { case (node, why) => s"$node: $why" }.take(3)
    s"$converted of $operators operators in pipelines, $transitions transition(s)" +
      (if (first.isEmpty) "" else first.mkString("; stayed in Spark: ", "; ", ""))
  }

  def json: String = {
    val node = Json.obj().put("operators", operators).put("converted", converted).put("transitions", transitions)
    Seq("decisions" -> decisions, "reasons" -> reasons).foreach { case (name, lines) =>
      node.set[ObjectNode](name, Json.arr(lines.map { case (n, why) => Json.text(s"$n: $why") }))
    }
    node.set[ObjectNode]("fragments", Json.arr(fragments.map { f =>
      val entry = Json.obj().put("id", f.number)
      entry.set[ObjectNode]("pipelines", Json.arr(f.pipelines.map(Json.text)))
      val values = Json.obj()
      (f.metrics ++ f.hiddenMetrics).foreach { case (name, m) => values.put(name, m.value) }
      entry.set[ObjectNode]("metrics", values)
      entry
    }))
    node.toString
  }
}

object Report {

  /** Return the report of a physical plan; for an adaptive plan, of its final plan. */
  def of(plan: SparkPlan): Report = {
    val counter = new PlanCounter
    counter.visit(plan, insideEngine = false)
    counter.transitions += (if (PlanCounter.endsInEngine(plan)) 1 else 0)
    def redacted(lines: Iterable[(String, String)]): Seq[(String, String)] =
      lines.map { case (node, why) => Redaction(node, plan.conf) -> Redaction(why, plan.conf) }.toSeq.distinct
    Report(counter.operators, counter.converted, counter.transitions, redacted(counter.decisions),
      redacted(counter.reasons), counter.fragments.distinctBy(_.number).toSeq, counter.cached.toSeq)
  }

  def text(plan: SparkPlan): String = {
    val report = of(plan)
    val lines = ArrayBuffer(report.line)
    report.fragments.foreach { f =>
      lines += s"fragment ${f.number}"
      f.pipelines.zipWithIndex.foreach { case (text, i) => lines += s"  pipeline $i: $text" }
    }
    Seq("decisions" -> report.decisions, "stayed in Spark" -> report.reasons).foreach { case (title, entries) =>
      if (entries.nonEmpty) lines += title
      entries.foreach { case (node, why) => lines += s"  $node: $why" }
    }
    lines.mkString("\n")
  }
}
