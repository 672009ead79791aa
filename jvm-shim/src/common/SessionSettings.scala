package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.{SparkConf, SparkContext, SparkEnv}
import org.apache.spark.internal.Logging

/** Settings the plugin makes, each only where the user gave none. */
object SessionSettings extends Logging {

  private val WorkerSettings = Seq(
    "spark.python.daemon.module" -> "pyspark_pipeline.spark.daemon",
    "spark.python.unix.domain.socket.enabled" -> "true")

  /** Set up the driver's configuration; give what executors shall set too. */
  def applyTo(sc: SparkContext): Map[String, String] = {
    val conf = sc.conf
    rejectBadOptions(conf)
    PythonProbe.reset()
    val missing = PythonProbe.missing(conf)
    missing match {
      case Some(what) if conf.getBoolean(Settings.Strict, defaultValue = false) =>
        throw new IllegalStateException(s"pyspark_pipeline cannot start: $what (${Settings.Strict}=true)")
      case Some(what) =>
        logWarning(s"pyspark_pipeline cannot start, Spark runs every query itself: $what")
        PythonProbe.reportMissing(what)
        Map.empty
      case None =>
        appendTo(conf, "spark.sql.extensions", "org.pysparkpipeline.PipelineExtensions")
        appendTo(conf, "spark.sql.queryExecutionListeners", classOf[QueryLog].getName)
        appendTo(conf, "spark.sql.extendedExplainProviders", classOf[PipelineExplain].getName)
        val added = WorkerSettings.filterNot { case (key, _) => conf.contains(key) }
        added.foreach { case (key, value) => conf.set(key, value) }
        added.toMap
    }
  }

  private def appendTo(conf: SparkConf, key: String, value: String): Unit = {
    val present = conf.get(key, "").split(",").map(_.trim).filter(_.nonEmpty).toSeq
    if (!present.contains(value)) conf.set(key, (present :+ value).mkString(","))
  }

  def applyToExecutor(conf: SparkConf, settings: Map[String, String]): Unit = {
    val own = Option(SparkEnv.get).map(_.conf).toSeq :+ conf
    own.foreach(c => settings.foreach { case (key, value) => c.setIfMissing(key, value) })
  }

  private def rejectBadOptions(conf: SparkConf): Unit = {
    conf.getAll.foreach { case (key, value) => Settings.check(key, value) }
  }
}
