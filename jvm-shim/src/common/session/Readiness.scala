package org.apache.spark.sql.pysparkpipeline

import java.util.concurrent.{ConcurrentHashMap, CountDownLatch, TimeUnit}

import scala.jdk.CollectionConverters._

import org.apache.spark.{Partition, SparkContext, TaskContext}
import org.apache.spark.internal.Logging
import org.apache.spark.rdd.RDD
import org.apache.spark.scheduler.{SparkListener, SparkListenerExecutorRemoved}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.util.Utils

/**
 * Tracks whether the workers' Pythons can run fragments. In local mode the driver starts a first worker. On a cluster
 * each executor probes its Python when it starts, and reports. The extension converts no plan before an executor has
 * reported success, nor while any executor reports failure.
 */
object Readiness {

  /** On a cluster only the plugin can ask the executors. */
  private val WithoutPlugin = "its plugin did not start: spark.plugins lacks org.pysparkpipeline.PipelinePlugin"

  /** On a cluster executors start to probe their Python only if the extension is enabled. */
  private val StartedDisabled = s"the application started with ${Settings.Enabled}=false, so no executor has probed its " +
    s"Python: start it with ${Settings.Enabled}=true to switch the extension on and off later"

  @volatile private var current: Readiness = new Readiness(Some(WithoutPlugin), None)

  /** Start tracking for a new context. */
  def begin(sc: SparkContext): Readiness = {
    WorkerPython.reset()
    val missing = WorkerPython.unsuitedSettings(sc.conf)
    current = new Readiness(missing, if (sc.isLocal && missing.isEmpty) Some(() => new LocalPython(sc)) else None)
    if (!sc.isLocal) sc.addSparkListener(current)
    current
  }

  /** Track a new context that has the extension disabled: no process starts before a session enables it. */
  def beginDisabled(sc: SparkContext): Unit = if (sc.isLocal) begin(sc) else fail(StartedDisabled)

  /** Convert nothing in this context because of `reason`. */
  def fail(reason: String): Unit = current = new Readiness(Some(reason), None)

  /** Return the reason why no plan can be converted now; None if fragments can run. May wait for a report. */
  def obstacle: Option[String] = current.obstacle

  /** Return [[obstacle]] as text for callers outside the JVM; empty if fragments can run. */
  def obstacleText(): String = obstacle.getOrElse("")

  /** Return whether all Pythons have a package that only some functions need. */
  def has(name: String): Boolean = current.has(name)

  /**
   * Record the report of an executor: empty text if it can run fragments, else the reason; and the names of those packages
   * that it has and only some functions need.
   */
  def report(executor: String, reason: String, optional: Set[String]): Unit = current.report(executor, reason, optional)
}

class Readiness(missing: Option[String], startLocal: Option[() => LocalPython]) extends SparkListener with Logging {

  private val obstacles = new ConcurrentHashMap[String, String]()
  private val optional = new ConcurrentHashMap[String, Set[String]]()
  private val answered = new CountDownLatch(1)
  @volatile private var isReady = false

  /** The driver's Python in local mode; the first use starts its first worker. */
  private lazy val local: Option[LocalPython] = startLocal.map(_.apply())

  /** Return the reason that is known without waiting. */
  def atStart: Option[String] = missing.orElse(local.flatMap(_.missing))

  /** Call `use` with the reason if a Python that has all packages cannot run fragments. */
  def onFailure(use: String => Unit): Unit = local.foreach(_.onFailure(use))

  /** Return whether the driver itself can decide, without a report of an executor. */
  def isAtDriver: Boolean = missing.isDefined || startLocal.isDefined

  def obstacle: Option[String] =
    if (isAtDriver) missing.orElse(local.flatMap(_.obstacle))
    else {
      if (answered.getCount > 0) awaitExecutor()
      obstacles.values().asScala.headOption.orElse(
        if (isReady) None else Some("no executor has reported yet that its Python can run fragments"))
    }

  /** Return whether the driver's Python in local mode, or that of every executor, has a package. */
  def has(name: String): Boolean =
    if (isAtDriver) local.exists(_.has(name))
    else !optional.isEmpty && optional.values().asScala.forall(_(name))

  def report(executor: String, reason: String, packages: Set[String]): Unit = {
    if (reason.isEmpty) {
      optional.put(executor, packages)
      isReady = true
    }
    else if (obstacles.put(executor, reason) == null) {
      logWarning(s"pyspark_pipeline cannot run, Spark runs every query itself: $reason")
    }
    answered.countDown()
  }

  /** Drop the removed executor's report: the remaining executors may be able to run fragments. */
  override def onExecutorRemoved(event: SparkListenerExecutorRemoved): Unit = {
    obstacles.remove(event.executorId)
    optional.remove(event.executorId)
  }

  /** The time at which queries stop waiting for the first report; the first waiting query sets it. */
  private lazy val deadline: Long = {
    SparkContext.getActive.filter(sc => Utils.isDynamicAllocationEnabled(sc.conf)).foreach(ExecutorRequest.submit)
    System.nanoTime() + TimeUnit.SECONDS.toNanos(Settings.number(SQLConf.get, "executors.waitSeconds"))
  }

  /** Wait for the first report, as the query would wait for its first executor. */
  private def awaitExecutor(): Unit = answered.await(deadline - System.nanoTime(), TimeUnit.NANOSECONDS)
}

/** Runs a job of one task, so that dynamic allocation starts an executor. The executor reports; the job does not. */
private object ExecutorRequest {
  def submit(sc: SparkContext): Unit = {
    val thread = new Thread(() => {
      sc.localProperties.remove() // drop the query's properties: its job group, its pool
      try {
        sc.setJobDescription("pyspark_pipeline: start an executor")
        new ExecutorRequest(sc).count()
      } catch {
        case scala.util.control.NonFatal(_) => // the query then receives no report
      }
    }, "pyspark_pipeline-executor-request")
    thread.setDaemon(true)
    thread.start()
  }
}

private class ExecutorRequest(sc: SparkContext) extends RDD[Int](sc, Nil) {
  override protected def getPartitions: Array[Partition] = Array(new Partition { override def index: Int = 0 })
  override def compute(split: Partition, context: TaskContext): Iterator[Int] = Iterator.empty
}
