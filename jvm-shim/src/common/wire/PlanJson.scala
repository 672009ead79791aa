package org.apache.spark.sql.pysparkpipeline

import com.fasterxml.jackson.core.{JsonFactory, StreamWriteConstraints}
import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.QueryContext
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.JoinType
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.internal.SQLConf

/**
 * Writes a fragment: every operator generically (class name, output, number, its expressions by field name,
 * children), inputs by number. The operators' rules add other properties.
 */
class PlanJson(id: Int, layout: FragmentLayout, val conf: SQLConf) {
  import Json._

  val expressions = new ExpressionJson

  def contexts: Array[QueryContext] = expressions.contexts.toArray

  def jvmCalls: Array[JvmCall] = expressions.jvmCalls.toArray

  def write(sink: ObjectNode): ObjectNode = {
    val node = obj().put("version", PlanJson.Version).put("id", id)
    node.set[ObjectNode]("root", write(layout.root))
    node.put("depth", layout.depth + expressions.depth)
    node.set[ObjectNode]("sink", sink)
    val options = obj()
    Settings.givenOptions(conf).foreach { case (k, v) => options.put(k, v) }
    val settings = obj().put("ansi", conf.ansiEnabled).put("timeZone", conf.sessionLocalTimeZone)
      .put("spark", org.apache.spark.SPARK_VERSION).put("java", Runtime.version.feature)
    settings.set[ObjectNode]("options", options)
    node.set[ObjectNode]("settings", settings)
    node
  }

  private def write(node: FragmentNode): ObjectNode = node.kind match {
    case NodeKind.Broadcast => start("Broadcast", node)
    case NodeKind.Input =>
      val json = start("Input", node)
      val drivers = PipelineShuffleExchangeExec.drivers(node.plan.session.sparkContext.conf)
      if (drivers > 1) json.put("drivers", drivers)
        .set[ObjectNode]("dealtBy", arr(PipelineShuffleExchangeExec.driverKeys(node.plan).map(expressions.write)))
      json
    case NodeKind.Operator | NodeKind.Scan | NodeKind.Union | NodeKind.PartitionDependent =>
      val json = start(node.plan.getClass.getSimpleName, node)
      OperatorRules.of(node.plan).describe(node.plan, json, this)
      if (node.children.nonEmpty) json.set[ObjectNode]("children", arr(node.children.map(write)))
      json
  }

  private def start(op: String, node: FragmentNode): ObjectNode = {
    val json = obj().put("op", op)
    json.set[ObjectNode]("output", arr(node.plan.output.map(attribute)))
    node.kind.key.foreach(json.put(_, node.number))
    json
  }

  /** Write the operator's expressions and scalar fields by name. */
  def fields(plan: SparkPlan): ObjectNode = {
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
      case (name, d: Double) => node.put(name, d)
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

object PlanJson {

  /** The version of a fragment's JSON and of the control message; `WIRE_VERSION` in the worker's `plan/layout.py`. */
  val Version = 4

  /** Jackson limits nesting to a thousand levels by default, which a chain of some hundred operators exceeds. */
  private val mapper = new ObjectMapper(new JsonFactory().setStreamWriteConstraints(
    StreamWriteConstraints.builder().maxNestingDepth(Int.MaxValue).build()))

  def text(fragment: ObjectNode): String = mapper.writeValueAsString(fragment)
}
