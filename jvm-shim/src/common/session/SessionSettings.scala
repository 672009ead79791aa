package org.apache.spark.sql.pysparkpipeline

import scala.ref.WeakReference

import org.apache.spark.{SparkConf, SparkContext}
import org.apache.spark.internal.Logging

/** Sets the configuration that the plugin needs, keeping the user's own values. */
object SessionSettings extends Logging {

  /** The key of the application's interpreter in the map that the driver sends to executors. */
  private val Python = "python"

  private val CacheSerializer = "spark.sql.cache.serializer"

  private val ExplainProviders = "spark.sql.extendedExplainProviders"

  /** The context that was set up last. */
  @volatile private var applied: WeakReference[SparkContext] = WeakReference(null)

  /**
   * Set up the driver's configuration; return the map for executors, which names the interpreter to probe. A defect leaves
   * every query to Spark, unless the application is strict. If the extension is disabled, no option is checked, and nothing
   * starts before a session enables it.
   */
  def applyTo(sc: SparkContext): Map[String, String] = {
    applied = WeakReference(sc)
    appendTo(sc.conf, "spark.sql.extensions", "org.pysparkpipeline.PipelineExtensions")
    if (Settings.startsEnabled(sc.conf)) Defects.guard(Settings.isStrict(sc.conf), failed)(enable(sc))
    else {
      sc.addSparkListener(new QueryLog)
      Readiness.beginDisabled(sc)
      Map.empty
    }
  }

  private def failed(error: Throwable): Map[String, String] = {
    Readiness.fail(s"it did not start: $error")
    Map.empty
  }

  private def enable(sc: SparkContext): Map[String, String] = {
    val conf = sc.conf
    rejectBadOptions(conf)
    val readiness = Readiness.begin(sc)
    if (readiness.isAtDriver && Settings.isStrict(conf)) {
      readiness.obstacle.foreach { reason =>
        throw new IllegalStateException(s"pyspark_pipeline cannot start: $reason (${Settings.Strict}=true)")
      }
    }
    readiness.atStart match {
      case Some(reason) =>
        logWarning(s"pyspark_pipeline cannot start, Spark runs every query itself: $reason")
        Map.empty
      case None =>
        readiness.onFailure(reason => logWarning(s"pyspark_pipeline cannot run, Spark runs every query itself: $reason"))
        sc.addSparkListener(new QueryLog)
        if (Settings.cachesChunks(conf) && !conf.contains(CacheSerializer)) conf.set(CacheSerializer, classOf[ChunkCacheSerializer].getName)
        if (ExplainProvider.define()) appendTo(conf, ExplainProviders, ExplainProvider.Name)
        Map(Python -> PythonInterpreter.ofDriver(conf))
    }
  }

  /** Set up a local driver that was given the session extensions alone: `remote("local")` overwrites `spark.plugins`. */
  def applyWithoutPlugin(): Unit = SparkContext.getActive.foreach { sc =>
    if (sc.isLocal && !applied.get.contains(sc)) applyTo(sc)
  }

  private def appendTo(conf: SparkConf, key: String, value: String): Unit = {
    val present = conf.get(key, "").split(",").map(_.trim).filter(_.nonEmpty).toSeq
    if (!present.contains(value)) conf.set(key, (present :+ value).mkString(","))
  }

  /** Probe this executor's Python; `report` the reason why it cannot run fragments, or empty text once it has imported
   * the engine, with those packages that only some functions need.
   */
  def applyToExecutor(conf: SparkConf, received: Map[String, String], report: (String, Set[String]) => Unit): Unit =
    received.get(Python).map(WorkerPython.probe(conf, _, imports = true)).foreach { probe =>
      def reportHere(reason: String): Unit = report(s"${WorkerPython.place}: $reason", Set.empty)
      probe.first.fold(reportHere, found => probe.onAnswer(_.fold(report("", found.optional))(reportHere)))
    }

  /** Fail the application for a wrong option if it is strict; else only queries fail later. */
  private def rejectBadOptions(conf: SparkConf): Unit = Settings.wrong(conf).foreach { reason =>
    if (Settings.isStrict(conf)) {
      throw new IllegalStateException(s"pyspark_pipeline cannot start: $reason (${Settings.Strict}=true)")
    }
    logWarning(s"pyspark_pipeline: $reason")
  }
}
