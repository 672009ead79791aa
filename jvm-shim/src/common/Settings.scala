package org.apache.spark.sql.pysparkpipeline

import scala.util.Try

import org.apache.spark.sql.internal.SQLConf

/** Reads `spark.pysparkPipeline.*` of a session against the manifest's list of options. */
object Settings {

  val Prefix = "spark.pysparkPipeline."
  val Strict: String = Prefix + "strict"

  /** Raise for an unknown option or a value that is not allowed. */
  def check(key: String, value: String): Unit = {
    if (key.startsWith(Prefix)) {
      val name = key.stripPrefix(Prefix)
      val spec = Manifest.options.getOrElse(name, throw new IllegalArgumentException(
        s"$key is not an option of pyspark_pipeline; there are: " +
          Manifest.options.keys.toSeq.sorted.map(Prefix + _).mkString(", ")))
      val good = spec.kind match {
        case "boolean" => Set("true", "false").contains(value.trim.toLowerCase(java.util.Locale.ROOT))
        case "text" => true
        case "choice" => spec.choices.contains(value.trim)
        case _ => Try(value.trim.toLong).toOption.exists { n =>
          spec.minimum.forall(n >= _) && spec.maximum.forall(n <= _)
        }
      }
      if (!good) {
        throw new IllegalArgumentException(s"$key is '$value': allowed is ${spec.allowed}")
      }
    }
  }

  /** The options given in this session, checked, without the prefix. */
  def givenOptions(conf: SQLConf): Map[String, String] = {
    conf.getAllConfs.collect { case (key, value) if key.startsWith(Prefix) =>
      check(key, value)
      key.stripPrefix(Prefix) -> value
    }
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
