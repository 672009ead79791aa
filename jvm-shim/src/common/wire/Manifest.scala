package org.apache.spark.sql.pysparkpipeline

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

/**
 * The operators, functions, options and metrics of the engine, as the Python side declared them at build time
 * (`pyspark_pipeline/manifest.json` in this jar). The shim names no function; it compares an expression with the cases
 * of the manifest.
 */
object Manifest {

  val mapper = new ObjectMapper()

  private lazy val root: JsonNode = {
    val stream = getClass.getClassLoader.getResourceAsStream("pyspark_pipeline/manifest.json")
    if (stream == null) {
      throw new IllegalStateException("the shim jar holds no pyspark_pipeline/manifest.json: build it again")
    }
    try mapper.readTree(stream) finally stream.close()
  }

  case class OptionSpec(key: String, kind: String, default: String, choices: Seq[String],
      minimum: Option[Long], maximum: Option[Long], allowed: String)

  /** A metric applies to fragments that contain one of `operators`; if that is empty, to all fragments. */
  case class MetricSpec(name: String, description: String, kind: String, operators: Seq[String], isShown: Boolean)

  lazy val options: Map[String, OptionSpec] = elements(root.path("options")).map { o =>
    val spec = OptionSpec(o.path("key").asText, o.path("kind").asText, o.path("default").asText,
      elements(o.path("choices")).map(_.asText), number(o.path("minimum")), number(o.path("maximum")),
      o.path("allowed").asText)
    spec.key -> spec
  }.toMap

  lazy val metrics: Seq[MetricSpec] = elements(root.path("metrics")).map { m =>
    MetricSpec(m.path("name").asText, m.path("description").asText, m.path("kind").asText,
      elements(m.path("operators")).map(_.asText), m.path("shown").asBoolean)
  }

  lazy val operators: Map[String, JsonNode] = fields(root.path("operators"))

  /** A setting of Spark with the only value that a reader supports; `option` is the read option that precedes it. */
  case class RequiredSetting(conf: String, option: String, value: String) {
    def name: String = if (option.isEmpty) conf else option
  }

  /** A file format: its name in messages, the kinds of types that its reader reads, and the settings that it needs. */
  case class FormatSpec(label: String, types: Set[String], settings: Seq[RequiredSetting])

  lazy val formats: Map[String, FormatSpec] = fields(root.path("formats")).map { case (name, f) =>
    val settings = elements(f.path("settings")).map(s =>
      RequiredSetting(s.path("conf").asText, s.path("option").asText, s.path("value").asText))
    name -> FormatSpec(f.path("label").asText, elements(f.path("types")).map(_.asText).toSet, settings)
  }

  lazy val expressions: Map[String, Seq[Case]] = cases(root.path("expressions"))

  /** The functions of which the engine computes some forms slower than Spark. */
  lazy val slower: Set[String] =
    expressions.collect { case (name, known) if known.exists(c => c.slower || c.regex.nonEmpty) => name }.toSet

  lazy val aggregates: Map[String, Seq[Case]] = cases(root.path("aggregates"))

  /** The aggregate functions that the engine supports over distinct values. */
  lazy val distinctAggregates: Map[String, Seq[Case]] =
    aggregates.map { case (name, known) => name -> known.filter(_.distinct) }

  lazy val windows: Map[String, Seq[Case]] = cases(root.path("windows"))

  /** The nondeterministic functions, which [[NondeterministicCalls]] takes out of expressions. */
  lazy val nondeterministic: Map[String, Seq[Case]] = cases(root.path("nondeterministic"))

  /** The packages of Python that only some functions need. */
  lazy val packages: Seq[String] = Seq(expressions, aggregates, windows)
    .flatMap(_.values.flatten.flatMap(_.packages.values)).distinct.sorted

  private def cases(node: JsonNode): Map[String, Seq[Case]] =
    fields(node).map { case (name, entry) => name -> elements(entry.path("cases")).map(Case(_)) }

  def elements(node: JsonNode): Seq[JsonNode] =
    if (node.isArray) node.elements().asScala.toSeq else Nil

  def fields(node: JsonNode): Map[String, JsonNode] =
    if (node.isObject) node.properties().asScala.map(e => e.getKey -> e.getValue).toMap else Map.empty

  private def number(node: JsonNode): Option[Long] = if (node.isNumber) Some(node.asLong) else None

  /** A condition on a regular expression: the positions of it and of what belongs to it, and what they must be like. */
  case class Regex(json: JsonNode) {
    val pattern: Int = json.path("pattern").asInt
    val chosen: Boolean = json.path("chosen").asBoolean(false)
    val group: Option[Int] = Option(json.get("group")).map(_.asInt)
    val replacement: Option[Int] = Option(json.get("replacement")).map(_.asInt)
    val full: Boolean = json.path("full").asBoolean(false)
  }

  /** One supported form of a function. */
  case class Case(json: JsonNode) {
    val args: Seq[Set[String]] = elements(json.path("args")).map(a => elements(a).map(_.asText).toSet)
    val variadic: Boolean = json.path("variadic").asBoolean(false)
    val sameType: Boolean = json.path("same_type").asBoolean(false)
    val result: Set[String] = elements(json.path("result")).map(_.asText).toSet
    val fieldValues: Map[String, Set[String]] =
      fields(json.path("fields")).map { case (k, v) => k -> elements(v).map(_.asText).toSet }
    val fieldPatterns: Map[String, String] = fields(json.path("field_matches")).map { case (k, v) => k -> v.asText }
    val settings: Map[String, Set[String]] =
      fields(json.path("settings")).map { case (k, v) => k -> elements(v).map(_.asText).toSet }
    /** The packages of Python that the form needs, by the extra of this package that installs them. */
    val packages: Map[String, String] = fields(json.path("packages")).map { case (k, v) => k -> v.asText }
    val distinct: Boolean = json.path("distinct").asBoolean(true)
    val frames: Set[String] = elements(json.path("frames")).map(_.asText).toSet
    val literals: Seq[Int] = elements(json.path("literal")).map(_.asInt)
    val patterns: Map[Int, String] = fields(json.path("matches")).map { case (k, v) => k.toInt -> v.asText }
    /** The kinds of the types that the type of an argument may consist of. */
    val children: Map[Int, Set[String]] =
      fields(json.path("children")).map { case (k, v) => k.toInt -> elements(v).map(_.asText).toSet }
    /** The fewest types that the type of an argument may consist of. */
    val leastChildren: Map[Int, Int] =
      fields(json.path("least_children")).map { case (k, v) => k.toInt -> v.asInt }
    /** The kinds that the keys of a map, which is the result, may have. */
    val keys: Set[String] = elements(json.path("keys")).map(_.asText).toSet
    /** The arguments that are arrays whose type allows NULL elements. */
    val nullableElements: Seq[Int] = elements(json.path("nullable_elements")).map(_.asInt)
    val choices: Map[Int, String] = fields(json.path("choices")).map { case (k, v) => k.toInt -> v.asText }
    val regex: Option[Regex] = Option(json.path("regex")).filter(_.isObject).map(Regex(_))
    val withoutNaN: Seq[Int] = elements(json.path("without_nan")).map(_.asInt)
    val maxPrecision: Int = json.path("max_precision").asInt(Int.MaxValue)
    /** Whether Spark's own code is faster. */
    val slower: Boolean = json.path("slower").asBoolean(false)
    val difference: Option[String] = Option(json.path("difference").asText(null)).filter(_.nonEmpty)
  }
}
