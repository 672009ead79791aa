package org.pysparkpipeline

import java.util.{Map => JMap}

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.spark.SparkContext
import org.apache.spark.api.plugin.{DriverPlugin, ExecutorPlugin, PluginContext, SparkPlugin}
import org.apache.spark.internal.Logging
import org.apache.spark.sql.pysparkpipeline.{Readiness, SessionSettings}

/**
 * The one setting a user gives: `spark.plugins=org.pysparkpipeline.PipelinePlugin`.
 *
 * Driver: adds [[PipelineExtensions]] to `spark.sql.extensions`, and in local mode probes the workers' Python.
 * Executor: probes its own Python, and reports to the driver whether it can run fragments.
 */
class PipelinePlugin extends SparkPlugin {
  override def driverPlugin(): DriverPlugin = new PipelineDriverPlugin
  override def executorPlugin(): ExecutorPlugin = new PipelineExecutorPlugin
}

class PipelineDriverPlugin extends DriverPlugin {

  override def init(sc: SparkContext, context: PluginContext): JMap[String, String] = {
    SessionSettings.applyTo(sc).asJava
  }

  /** Record the report of an executor on whether its Python can run fragments. */
  override def receive(message: AnyRef): AnyRef = {
    message match {
      case Array(executor: String, reason: String, optional: String) =>
        Readiness.report(executor, reason, optional.split(' ').toSet)
      case _ =>
    }
    null
  }
}

/** Raises nothing in `init`: Spark would end the executor, and restart it forever. */
class PipelineExecutorPlugin extends ExecutorPlugin with Logging {

  override def init(context: PluginContext, extra: JMap[String, String]): Unit = try {
    if (context.executorID() != "driver") {
      SessionSettings.applyToExecutor(context.conf(), extra.asScala.toMap, report(context, _, _))
    }
  } catch {
    case e: Throwable => logWarning("pyspark_pipeline did not start on this executor", e)
  }

  /** Report and wait for the driver to receive it: it must know before this executor gets a task. */
  private def report(context: PluginContext, reason: String, optional: Set[String]): Unit = try {
    context.ask(Array(context.executorID(), reason, optional.mkString(" ")))
  } catch {
    case NonFatal(e) => logWarning(s"pyspark_pipeline could not report to the driver: $reason", e)
  }
}
