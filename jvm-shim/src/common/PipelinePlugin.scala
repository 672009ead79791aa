package org.pysparkpipeline

import java.util.{Map => JMap}

import scala.jdk.CollectionConverters._

import org.apache.spark.SparkContext
import org.apache.spark.api.plugin.{DriverPlugin, ExecutorPlugin, PluginContext, SparkPlugin}
import org.apache.spark.sql.pysparkpipeline.{PythonProbe, SessionSettings}

/**
 * The one setting a user gives: `spark.plugins=org.pysparkpipeline.PipelinePlugin`.
 *
 * Driver: adds [[PipelineExtensions]] to `spark.sql.extensions`, sets the Python worker settings that
 * make a stage cheap (never over what the user set), and looks whether the worker's Python has the engine.
 * Executor: takes the same settings, looks at its own Python, and tells the driver what is missing.
 */
class PipelinePlugin extends SparkPlugin {
  override def driverPlugin(): DriverPlugin = new PipelineDriverPlugin
  override def executorPlugin(): ExecutorPlugin = new PipelineExecutorPlugin
}

class PipelineDriverPlugin extends DriverPlugin {

  override def init(sc: SparkContext, context: PluginContext): JMap[String, String] = {
    SessionSettings.applyTo(sc).asJava
  }

  /** Take an executor's word that its Python cannot run fragments. */
  override def receive(message: AnyRef): AnyRef = {
    message match {
      case text: String => PythonProbe.reportMissing(text)
      case _ =>
    }
    null
  }
}

class PipelineExecutorPlugin extends ExecutorPlugin {

  override def init(context: PluginContext, extra: JMap[String, String]): Unit = {
    SessionSettings.applyToExecutor(context.conf(), extra.asScala.toMap)
    if (context.executorID() != "driver") {
      PythonProbe.missing(context.conf()).foreach { what =>
        context.send(s"executor ${context.executorID()} on ${context.hostname()}: $what")
      }
    }
  }
}
