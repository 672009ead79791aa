package org.apache.spark.sql.pysparkpipeline

import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.internal.Logging
import org.apache.spark.internal.config.SECRET_REDACTION_PATTERN
import org.apache.spark.sql.catalyst.expressions.Literal
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.util.Utils

/** Redacts texts of plans by `spark.sql.redaction.string.regex`, as Spark redacts its own. */
object Redaction extends Logging {

  private val Capture = "capture."

  def apply(text: String, conf: SQLConf): String = Utils.redact(conf.stringRedactionPattern, text)

  /**
   * Remove the options that request a capture from `fragment` if the capture would contain text that Spark redacts. A
   * capture contains the fragment with all literals, because a replay needs them.
   */
  def withoutCapture(fragment: ObjectNode, root: SparkPlan, conf: SQLConf): Unit = {
    val found = if (Settings.text(conf, Capture + "folder").isEmpty) None else secret(fragment, root, conf)
    found.foreach { why =>
      logWarning(s"pyspark_pipeline: fragment ${fragment.path("id").asInt} is not captured: $why")
      val options = fragment.path("settings").path("options").asInstanceOf[ObjectNode]
      Manifest.fields(options).keys.filter(_.startsWith(Capture)).foreach(options.remove(_))
    }
  }

  private def secret(fragment: ObjectNode, root: SparkPlan, conf: SQLConf): Option[String] = {
    lazy val literals = Fusion.operators(root).map(_.original).flatMap(_.expressions)
      .flatMap(_.collect { case l: Literal => String.valueOf(l.value) })
    lazy val texts = fragment.toString +: root.toString +: literals
    val inPlan = conf.stringRedactionPattern.filter(pattern => texts.exists(pattern.findFirstIn(_).isDefined))
    val ofKeys = root.session.sparkContext.conf.get(SECRET_REDACTION_PATTERN)
    val inKeys = Settings.givenOptions(conf).keys.exists(key => ofKeys.findFirstIn(Settings.Prefix + key).isDefined)
    if (inPlan.isDefined) Some("it holds what spark.sql.redaction.string.regex matches")
    else if (inKeys) Some("its options have keys that spark.redaction.regex matches")
    else None
  }
}
