package org.apache.spark.sql.pysparkpipeline

import java.util.concurrent.{CompletableFuture, TimeUnit}

import scala.concurrent.{Await, Future, Promise, TimeoutException}
import scala.concurrent.duration._
import scala.io.Source
import scala.util.control.NonFatal

import org.apache.spark.api.python.PythonUtils

/**
 * Runs one process of the workers' Python, which finds the packages of the engine and then imports them. It answers in
 * two steps: which packages are installed (about 50 ms), and whether all can be imported (a second or two; only callers
 * of [[obstacle]] wait for it). Both answers always arrive, also if the process fails. If not `imports`, the process
 * only finds the packages, and they count as importable.
 */
class PythonProbe(python: String, packages: Seq[String], environment: Map[String, String], imports: Boolean) {
  import PythonProbe._

  private val found = Promise[Either[String, Found]]()
  private val imported = Promise[Option[String]]()
  @volatile private var isLate = false

  private val reader = new Thread(() => run(), "pyspark_pipeline-probe")
  reader.setDaemon(true)
  reader.start()

  /** Return the first answer: the missing packages as text, or the Python that was found. */
  def first: Either[String, Found] =
    within(found.future, FirstSeconds, Left(s"Python $python did not answer in $FirstSeconds s"))

  /** Return the second answer: the reason why this Python cannot run fragments; None if it can. Waits for the imports. */
  def obstacle: Option[String] =
    within(imported.future, LimitSeconds + 5, Some(s"Python $python did not import the engine in $LimitSeconds s"))

  def onAnswer(use: Option[String] => Unit): Unit =
    imported.future.foreach(use)(scala.concurrent.ExecutionContext.parasitic)

  /** Return whether fragments can run, or no answer has arrived yet. */
  def mayRun: Boolean = imported.future.value.forall(_.toOption.exists(_.isEmpty))

  private def run(): Unit = {
    val end = try follow(start()) catch {
      case NonFatal(e) => Some(s"Python $python does not start: ${e.getMessage}")
    }
    found.trySuccess(Left(end.getOrElse(s"Python $python ended without an answer")))
    imported.trySuccess(end)
  }

  private def start(): Process = {
    val step = if (imports) "import" else "find"
    val builder = new ProcessBuilder((Seq(python, "-c", Script, step, Manifest.packages.mkString(",")) ++ packages): _*).redirectErrorStream(true)
    environment.foreach { case (key, value) => builder.environment().put(key, value) }
    builder.environment().put("PYTHONPATH", PythonUtils.mergePythonPaths(
      PythonUtils.sparkPythonPath, environment.getOrElse("PYTHONPATH", ""), sys.env.getOrElse("PYTHONPATH", "")))
    val process = builder.start()
    process.getOutputStream.close()
    CompletableFuture.delayedExecutor(LimitSeconds, TimeUnit.SECONDS).execute(() => if (process.isAlive) {
      isLate = true
      process.destroyForcibly()
    })
    process
  }

  /** Read the output of the process to its end; return the reason why it cannot run fragments. */
  private def follow(process: Process): Option[String] = {
    var version, module, other = ""
    var optional = Set.empty[String]
    var verdict: Option[Option[String]] = None
    Source.fromInputStream(process.getInputStream, "UTF-8").getLines().foreach {
      case Line("version", text) => version = text
      case Line("optional", names) => optional = names.split(' ').toSet
      case Line("found", where) => found.trySuccess(Right(Found(version, where == "packages", optional)))
      case Line("absent", names) => verdict = Some(Some(s"Python $python has no $names: install pyspark_pipeline " +
        "there, or set PYSPARK_PYTHON or spark.pyspark.python to one that has it"))
      case Line("import", name) => module = name
      case Line("error", text) => verdict = Some(Some(s"Python $python cannot import $module: $text"))
      case Line("ready", _) => verdict = Some(None)
      case text => if (text.trim.nonEmpty) other = text.trim
    }
    val code = process.waitFor()
    verdict.getOrElse(Some(ending(code, module, other)))
  }

  private def ending(code: Int, module: String, other: String): String = {
    val when = if (module.isEmpty) "" else s" while it imported $module"
    val last = if (other.isEmpty) "" else s": $other"
    if (isLate) s"Python $python took more than $LimitSeconds s$when$last"
    else if (code > 128) s"Python $python was ended by signal ${code - 128}$when$last"
    else s"Python $python ended with exit code $code$when$last"
  }
}

object PythonProbe {
  private val FirstSeconds = 20
  private val LimitSeconds = 60
  private val Mark = "pyspark_pipeline-probe"

  /**
   * The version of a Python that has the packages; `needsPackages` if only the `--py-files` contain some of them.
   * `optional` are those that only some functions need.
   */
  case class Found(version: String, needsPackages: Boolean, optional: Set[String] = Set.empty)

  private object Line {
    def unapply(line: String): Option[(String, String)] =
      if (!line.startsWith(Mark + " ")) None
      else {
        val (kind, text) = line.drop(Mark.length + 1).span(_ != ' ')
        Some(kind -> text.trim)
      }
  }

  private val Script =
    s"""import signal
       |import sys
       |signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal reaches this process too
       |from importlib import import_module
       |from importlib.util import find_spec
       |def say(kind, text=''):
       |    print('$Mark', kind, ' '.join(str(text).split()), flush=True)
       |def absent():
       |    modules = ('pyspark', 'pyarrow', 'numpy', 'numba', 'pyspark_pipeline')
       |    return [name for name in modules if find_spec(name) is None]
       |say('version', '%d.%d' % sys.version_info[:2])
       |where = 'path'
       |if absent() and sys.argv[3:]:
       |    sys.path[1:1] = sys.argv[3:]
       |    where = 'packages'
       |if absent():
       |    say('absent', ', '.join(absent()))
       |    sys.exit()
       |say('optional', ' '.join(name for name in sys.argv[2].split(',') if name and find_spec(name)))
       |say('found', where)
       |if sys.argv[1] == 'find':
       |    say('ready')
       |    sys.exit()
       |try:
       |    for name in ('pyspark', 'numpy', 'pyarrow', 'numba', 'pandas', 'pyspark_pipeline.spark.worker'):
       |        say('import', name)
       |        import_module(name)
       |except BaseException as error:
       |    say('error', '%s: %s' % (type(error).__name__, error))
       |else:
       |    say('ready')
       |""".stripMargin

  private def within[A](future: Future[A], seconds: Int, otherwise: A): A =
    try Await.result(future, seconds.seconds) catch { case _: TimeoutException => otherwise }
}
