package org.apache.spark.sql.pysparkpipeline

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.QueryContext
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.plans.JoinType
import org.apache.spark.sql.execution.{FileSourceScanExec, RangeExec, SortExec, SparkPlan}
import org.apache.spark.sql.internal.SQLConf

/**
 * Writes a fragment: every operator generically (class name, output, its expressions by field name,
 * children), scans and inputs by number.
 */
class PlanJson(id: Int, root: SparkPlan, conf: SQLConf) {
  import Json._

  private val expressions = new ExpressionJson
  private var scans = 0
  private var inputs = 0
  private var broadcasts = 0

  def contexts: Array[QueryContext] = expressions.contexts.toArray

  def write(sink: ObjectNode): ObjectNode = {
    val node = obj().put("version", 1).put("id", id)
    node.set[ObjectNode]("root", operator(root))
    node.set[ObjectNode]("sink", sink)
    val options = obj()
    Settings.givenOptions(conf).foreach { case (k, v) => options.put(k, v) }
    val settings = obj().put("ansi", conf.ansiEnabled).put("timeZone", conf.sessionLocalTimeZone)
    settings.set[ObjectNode]("options", options)
    node.set[ObjectNode]("settings", settings)
    node
  }

  private def operator(plan: SparkPlan): ObjectNode = plan match {
    case PipelineOperatorExec(scan: FileSourceScanExec) =>
      scans += 1
      val node = named("FileSourceScanExec", scan.output).put("scan", scans - 1)
        .put("numDataColumns", scan.requiredSchema.length)
        .put("caseSensitive", conf.caseSensitiveAnalysis)
      node.set[ObjectNode]("pushed", arr(scan.dataFilters.filter(pushable).map(expressions.write)))
      node
    case PipelineOperatorExec(range: RangeExec) =>
      scans += 1
      named("RangeExec", range.output).put("scan", scans - 1)
    case PipelineOperatorExec(original) =>
      val node = named(original.getClass.getSimpleName, original.output)
      node.set[ObjectNode]("fields", fields(original))
      original match {
        case sort: SortExec if Sorts.getsRuns(sort) => node.put("getsRuns", true)
        case _ =>
      }
      node.set[ObjectNode]("children", arr(original.children.map(operator)))
      node
    case input if BroadcastChunks.isBroadcast(input) =>
      broadcasts += 1
      named("Broadcast", input.output).put("broadcast", broadcasts - 1)
    case input =>
      inputs += 1
      val node = named("Input", input.output).put("input", inputs - 1)
      val drivers = PipelineShuffleExchangeExec.drivers(input.session.sparkContext.conf)
      if (drivers > 1) node.put("drivers", drivers)
        .set[ObjectNode]("dealtBy", arr(PipelineShuffleExchangeExec.dealtBy(input).map(expressions.write)))
      node
  }

  private def named(op: String, output: Seq[Attribute]): ObjectNode = {
    val node = obj().put("op", op)
    node.set[ObjectNode]("output", arr(output.map(attribute)))
    node
  }

  private def pushable(e: Expression): Boolean =
    ExpressionJson.subqueries(e).isEmpty && new Support(false).reason(e).isEmpty

  private def fields(plan: SparkPlan): ObjectNode = {
    val node = obj()
    plan.productElementNames.zip(plan.productIterator).foreach {
      case (name, e: Expression) => node.set[ObjectNode](name, expressions.write(e))
      case (name, s: Seq[_]) if s.forall(_.isInstanceOf[Expression]) =>
        node.set[ObjectNode](name, arr(s.map(e => expressions.write(e.asInstanceOf[Expression]): JsonNode)))
      case (name, None) => node.putNull(name)
      case (name, Some(e: Expression)) => node.set[ObjectNode](name, expressions.write(e))
      case (name, Some(s: Seq[_])) if s.forall(_.isInstanceOf[Expression]) =>
        node.set[ObjectNode](name, arr(s.map(e => expressions.write(e.asInstanceOf[Expression]): JsonNode)))
      case (name, n: Int) => node.put(name, n)
      case (name, n: Long) => node.put(name, n)
      case (name, b: Boolean) => node.put(name, b)
      case (name, s: String) => node.put(name, s)
      case (name, s: Seq[_]) if s.forall(_.isInstanceOf[Seq[_]]) =>
        node.set[ObjectNode](name, arr(s.map(row =>
          arr(row.asInstanceOf[Seq[Expression]].map(e => expressions.write(e): JsonNode)): JsonNode)))
      case (name, kind: JoinType) => node.put(name, kind.getClass.getSimpleName.stripSuffix("$"))
      case (name, p: Product) if p.productArity == 0 => node.put(name, p.productPrefix)
      case _ =>
    }
    node
  }
}
