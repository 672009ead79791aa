package org.apache.spark.sql.pysparkpipeline

import java.util.concurrent.TimeUnit.MILLISECONDS
import java.util.concurrent.atomic.AtomicBoolean

import org.apache.spark.TaskContext
import org.apache.spark.util.ThreadUtils

/**
 * Ends the worker of a killed or failed task. Spark's monitor grants the worker of a killed one up to four seconds, in
 * which the task occupies its slot and the next query waits; the code of a fragment has nothing to do in them. The worker
 * of a task that failed in the JVM would take what it got for its whole input and run on.
 */
object KilledTasks {
  private val PeriodMs = 100L
  private lazy val timer = ThreadUtils.newDaemonSingleThreadScheduledExecutor("pyspark-pipeline-killed-tasks")

  /** Run `destroy` soon after the task is killed, or when it has failed, unless its worker was `released` before. */
  def watch(context: TaskContext, released: AtomicBoolean)(destroy: => Unit): Unit = {
    def end(): Unit = if (released.compareAndSet(false, true)) destroy
    val check: Runnable = () => if (context.isInterrupted()) end()
    val checks = timer.scheduleWithFixedDelay(check, PeriodMs, PeriodMs, MILLISECONDS)
    context.addTaskCompletionListener[Unit] { _ =>
      checks.cancel(false)
      if (context.isFailed()) end()
    }
  }
}
