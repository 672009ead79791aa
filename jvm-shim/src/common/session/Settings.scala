package org.apache.spark.sql.pysparkpipeline

import scala.util.Try

import org.apache.spark.SparkConf
import org.apache.spark.internal.config.ConfigEntry
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.unsafe.types.UTF8String

/** A wrong option; the message names the option, its value and what is allowed. */
class OptionError(message: String) extends IllegalArgumentException(message)

/**
 * Reads `spark.pysparkPipeline.*` of a session against the manifest's list of options.
 *
 * A wrong option fails the queries of a session in which the extension is enabled; the message names the option.
 * Commands that set or reset an option never fail, and no query fails if the extension is disabled.
 */
object Settings {

  val Prefix = "spark.pysparkPipeline."
  val Strict: String = Prefix + "strict"
  val Enabled: String = Prefix + "enabled"

  /** A name counts as a misspelling of another if at most one of this many letters differs. */
  private val Similar = 3

  /** Raise for an unknown option or a forbidden value. */
  def check(key: String, value: String): Unit = wrong(key, value).foreach { text =>
    throw new OptionError(text)
  }

  /** Return the error in a setting; None if it is correct, or is no option of the extension. */
  def wrong(key: String, value: String): Option[String] =
    if (!hasPrefix(key)) None
    else Manifest.options.get(key.stripPrefix(Prefix)) match {
      case None =>
        val known = Manifest.options.keys.toSeq.sorted.map(Prefix + _)
        val other = suggestion(key, known).getOrElse("; there are: " + known.mkString(", "))
        Some(s"$key is not an option of pyspark_pipeline$other")
      case Some(spec) if spec.kind == "names" => Exclusions.unknown(value).headOption.map { name =>
        s"$key has '$name': allowed is ${spec.allowed}${suggestion(name, Exclusions.known).getOrElse("")}"
      }
      case Some(spec) if isAllowed(spec, value.trim) => None
      case Some(spec) =>
        val values = if (spec.kind == "boolean") Seq("true", "false") else spec.choices
        Some(s"$key is '$value': allowed is ${spec.allowed}${suggestion(value.trim, values).getOrElse("")}")
    }

  private def hasPrefix(key: String): Boolean = key.regionMatches(true, 0, Prefix, 0, Prefix.length)

  private def isAllowed(spec: Manifest.OptionSpec, value: String): Boolean = spec.kind match {
    case "boolean" => value.equalsIgnoreCase("true") || value.equalsIgnoreCase("false")
    case "text" => true
    case "choice" => spec.choices.contains(value)
    case _ => Try(value.toLong).toOption.exists(n => spec.minimum.forall(n >= _) && spec.maximum.forall(n <= _))
  }

  private def suggestion(text: String, known: Seq[String]): Option[String] = {
    def lower(word: String): UTF8String = UTF8String.fromString(word).toLowerCase
    val near = known.map(name => name -> lower(text).levenshteinDistance(lower(name)))
    near.sortBy(_._2).headOption.collect {
      case (name, distance) if distance <= math.max(1, name.stripPrefix(Prefix).length / Similar) =>
        s"; did you mean $name?"
    }
  }

  /** Return the options set in this session, without the prefix. */
  def givenOptions(conf: SQLConf): Map[String, String] = conf.getAllConfs.collect {
    case (key, value) if key.startsWith(Prefix) => key.stripPrefix(Prefix) -> value
  }

  /** Run `planning` if all options of the session are correct; else raise for the first wrong one. */
  def checked[A](conf: SQLConf, planning: => A): A = {
    conf.getAllConfs.iterator.filter(entry => hasPrefix(entry._1)).toSeq.sorted.foreach { case (key, value) =>
      check(key, value)
    }
    planning
  }

  /** Return the errors in the options that an application starts with. */
  def wrong(conf: SparkConf): Seq[String] =
    conf.getAll.toSeq.sorted.flatMap { case (key, value) => wrong(key, value) }

  /** Return whether the application must fail rather than leave queries to Spark; false if the value is no boolean. */
  def isStrict(conf: SparkConf): Boolean = conf.get(Strict, "false").trim.equalsIgnoreCase("true")

  /** Return whether a query must fail rather than be left to Spark; false if the value is no boolean. */
  def isStrict(conf: SQLConf): Boolean = conf.getConfString(Strict, "false").trim.equalsIgnoreCase("true")

  /** Return whether the application starts with the extension enabled; true if the value is no boolean. */
  def startsEnabled(conf: SparkConf): Boolean = !conf.get(Enabled, "true").trim.equalsIgnoreCase("false")

  /** Return whether plans of the engine are cached as chunks; false if the value is no boolean. */
  def cachesChunks(conf: SparkConf): Boolean = conf.get(Prefix + "cache.enabled", "false").trim.equalsIgnoreCase("true")

  /**
   * Return the value of a setting of Spark, `<undefined>` for one without value; None if this version of Spark does not
   * have it, and it is not set.
   * A key that begins with `java.` is a property of the driver's Java, or what [[JavaMath]] finds out about it.
   */
  def ofSpark(conf: SQLConf, key: String): Option[String] =
    if (key == JavaMath.Key) Some(JavaMath.trigonometry)
    else if (key.startsWith("java.")) sys.props.get(key)
    else {
      Try(Option(conf.getConfString(key))).toOption.flatten
        .orElse(Option(ConfigEntry.findEntry(key)).map(_.defaultValueString))
    }

  def text(conf: SQLConf, name: String): String = {
    val key = Prefix + name
    if (conf.contains(key)) {
      val value = conf.getConfString(key)
      check(key, value)
      value.trim
    } else Manifest.options(name).default
  }

  def flag(conf: SQLConf, name: String): Boolean = text(conf, name).equalsIgnoreCase("true")

  def number(conf: SQLConf, name: String): Long = text(conf, name).toLong
}
