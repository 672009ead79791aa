package org.apache.spark.sql.pysparkpipeline

import scala.concurrent.{Await, Promise, TimeoutException}
import scala.concurrent.duration._
import scala.util.control.NonFatal

import org.apache.spark.SparkContext

/**
 * Whether the driver's own Python can run fragments, in local mode. The first worker shows it: it imports the engine and
 * then runs the first query. Another process imports the engine only if that worker fails, to find the reason, or if no
 * worker can start before the first query ([[FirstWorker.mayStart]]).
 */
class LocalPython(sc: SparkContext) {
  import LocalPython._

  private val python = PythonInterpreter.ofDriver(sc.conf)
  private val finder = WorkerPython.probe(sc.conf, python, imports = false)
  private val answer = Promise[Option[String]]()

  private val thread = new Thread(() => run(), "pyspark_pipeline-first-worker")
  thread.setDaemon(true)
  thread.start()

  /** Return the reason that is known without an import: a package is not installed. */
  def missing: Option[String] = finder.first.left.toOption

  /** Return whether this Python has a package that only some functions need. */
  def has(name: String): Boolean = finder.first.exists(_.optional(name))

  /** Return the reason why this Python cannot run fragments; None if it can. Waits for the imports. */
  def obstacle: Option[String] =
    try Await.result(answer.future, LimitSeconds.seconds) catch {
      case _: TimeoutException => Some(s"Python $python did not import the engine in $LimitSeconds s")
    }

  /** Call `use` with the reason if this Python has all packages but cannot run fragments. */
  def onFailure(use: String => Unit): Unit =
    answer.future.foreach(_.foreach(use))(scala.concurrent.ExecutionContext.parasitic)

  private def run(): Unit = answer.success(try missing.orElse {
    if (FirstWorker.mayStart(sc) && FirstWorker.start(sc)) None
    else WorkerPython.probe(sc.conf, python, imports = true).obstacle
  } catch {
    case NonFatal(e) => Some(s"the check of Python $python failed: $e")
  })
}

object LocalPython {
  private val LimitSeconds = 90 // a worker that fails, then a probe
}
