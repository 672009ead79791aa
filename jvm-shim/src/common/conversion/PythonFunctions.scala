package org.apache.spark.sql.pysparkpipeline

import java.util.Base64

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.SparkConf
import org.apache.spark.api.python.PythonFunction
import org.apache.spark.sql.catalyst.expressions.{Expression, NamedArgumentExpression, PythonFuncExpression}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.python.ArrowPythonRunner
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._

/**
 * Calls of the user's Python functions. Spark's own `pyspark/worker.py` calls them in the worker; the
 * JSON has what Spark's runner would send it.
 */
object PythonFunctions {
  import Json._

  /** The reason against functions of types that [[isUnsupported]]. */
  val UnsupportedTypes = "of times, intervals or of the type void are not supported"

  private val OutputBatch =
    Seq(SQLConf.ARROW_EXECUTION_MAX_RECORDS_PER_OUTPUT_BATCH, SQLConf.ARROW_EXECUTION_MAX_BYTES_PER_OUTPUT_BATCH)

  private val BinaryAsBytes = "spark.sql.execution.pyspark.binaryAsBytes"

  /** Return the reason why functions over Arrow batches stay in Spark; None if they can run in a fragment. */
  def arrowLimitation(op: SparkPlan, calls: Seq[PythonFuncExpression]): Option[String] = {
    val conf = op.conf
    if (conf.arrowUseLargeVarTypes) other(calls, s"with ${SQLConf.ARROW_EXECUTION_USE_LARGE_VAR_TYPES.key} are not supported")
    else if (conf.arrowMaxRecordsPerBatch <= 0) other(calls, "over batches without a limit are not supported")
    else limitation(op, calls)
  }

  /** Return the reason why functions stay in Spark whose results it splits into batches of another size. */
  def outputLimitation(op: SparkPlan, calls: Seq[PythonFuncExpression]): Option[String] =
    OutputBatch.find(entry => op.conf.getConf(entry).toString.toLong > 0).flatMap(entry => other(calls, s"with ${entry.key} are not supported"))

  /** Return the reason why functions of any form stay in Spark; None if they can run in a fragment. */
  def limitation(op: SparkPlan, calls: Seq[PythonFuncExpression]): Option[String] = {
    val types = calls.map(_.dataType) ++ arguments(calls).map(_.dataType)
    if (types.exists(isUnsupported)) other(calls, UnsupportedTypes)
    else if (op.conf.pythonUDFProfiler.isDefined) other(calls, "are profiled by Spark")
    else if (op.conf.pythonWorkerLoggingEnabled) other(calls, s"that log with ${SQLConf.PYTHON_WORKER_LOGGING_ENABLED.key} are not supported")
    else of(calls).flatMap(obstacle(_, op.session.sparkContext.conf)).headOption.flatMap(other(calls, _))
  }

  /** Return the reason why functions that get the values of their arguments pickled stay in Spark. */
  def pickleLimitation(op: SparkPlan, calls: Seq[PythonFuncExpression]): Option[String] = {
    val types = arguments(calls).map(_.dataType)
    val hasBinary = types.exists(_.existsRecursively(_ == BinaryType))
    if (hasBinary && !op.conf.getConfString(BinaryAsBytes, "true").toBoolean) other(calls, s"of binary columns with $BinaryAsBytes=false are not supported")
    else if (types.exists(_.existsRecursively(hasKeysWithoutOrder))) other(calls, "of maps with keys of bytes or nested types are not supported")
    else if (calls.exists(_.dataType.existsRecursively(hasDecimalKeys))) other(calls, "that return maps with decimal keys are not supported")
    else None
  }

  /** Return whether `t` is a map whose entries are in no known order if it is pickled: Java hashes the identity of its keys. */
  private def hasKeysWithoutOrder(t: DataType): Boolean = t match {
    case m: MapType => m.keyType == BinaryType || !Support.isSupported(m.keyType)
    case _ => false
  }

  /** Return whether `t` is a map with decimal keys: Spark reads any other number as a NULL key, which other maps do not have. */
  private def hasDecimalKeys(t: DataType): Boolean = t match {
    case m: MapType => m.keyType.isInstanceOf[DecimalType]
    case _ => false
  }

  /**
   * Return the reason against functions that return values of `types`: within a nested one nothing may be declared as never
   * NULL. Depending on the form Spark refuses such a type, or reads 0 for NULL.
   */
  def resultLimitation(calls: Seq[PythonFuncExpression], types: Seq[DataType]): Option[String] = {
    val isRequired = types.exists(_.existsRecursively {
      case a: ArrayType => !a.containsNull
      case m: MapType => !m.valueContainsNull
      case s: StructType => s.exists(!_.nullable)
      case _ => false
    })
    if (isRequired) other(calls, "that declare a part of a nested result as never NULL are not supported") else None
  }

  /** Return a reason against the functions of `calls`. */
  def other(calls: Seq[PythonFuncExpression], what: String): Option[String] =
    Some(s"Python functions (${calls.map(_.name).distinct.mkString(", ")}) $what")

  /** Return the reason why a function needs another Python process than fragments have. */
  private def obstacle(function: PythonFunction, conf: SparkConf): Option[String] = {
    val environment = PythonInterpreter.environment(conf, Nil)
    if (function.pythonExec != PythonInterpreter.ofDriver(conf)) Some(s"run in another Python: ${function.pythonExec}")
    else {
      val others = function.envVars.asScala.keys.filter(key => environment.get(key) != function.envVars.get(key))
      others.headOption.map(key => s"have an environment variable of their own: $key")
    }
  }

  /** Return whether functions over values of type `t` stay in Spark. */
  def isUnsupported(t: DataType): Boolean = t.existsRecursively {
    case NullType | _: TimeType | _: DayTimeIntervalType | _: YearMonthIntervalType => true
    case _ => false
  }

  /** Return the functions that `calls` call. */
  def of(calls: Seq[PythonFuncExpression]): Seq[PythonFunction] = chains(calls).flatMap(_.functions)

  /** Return the distinct expressions whose values the functions get. */
  def arguments(calls: Seq[PythonFuncExpression]): Seq[Expression] = chains(calls).flatMap(_.arguments.map(_._1)).distinctBy(identity)

  /** A function and those that take its result; the first one takes the arguments, some by name. */
  private case class Chain(functions: Seq[PythonFunction], arguments: Seq[(Expression, Option[String])])

  private def chains(calls: Seq[PythonFuncExpression]): Seq[Chain] = calls.map { call =>
    call.children match {
      case Seq(inner: PythonFuncExpression) =>
        val Chain(functions, arguments) = chains(Seq(inner)).head
        Chain(functions :+ call.func, arguments)
      case children => Chain(Seq(call.func), children.map {
        case NamedArgumentExpression(name, value) => value -> Some(name)
        case value => value -> None
      })
    }
  }

  /** Add the calls to the operator's JSON `node`; `settings` are for the worker, besides those of the session. */
  def describe(
      calls: Seq[PythonFuncExpression],
      evalType: Int,
      maxRows: Int,
      node: ObjectNode,
      plan: PlanJson,
      settings: Map[String, String] = Map.empty): Unit = {
    val read = arguments(calls)
    val schema = StructType(read.zipWithIndex.map { case (e, i) => StructField(s"_$i", e.dataType) })
    val conf = obj()
    (ArrowPythonRunner.getPythonRunnerConfMap(plan.conf) ++ settings).foreach { case (key, value) => conf.put(key, value) }
    node.put("evalType", evalType).put("maxRows", maxRows).put("maxBytes", plan.conf.arrowMaxBytesPerBatch).put("inputType", schema.json)
    node.set[ObjectNode]("conf", conf)
    node.set[ObjectNode]("arguments", arr(read.map(e => plan.expressions.write(e): JsonNode)))
    node.set[ObjectNode]("calls", arr(chains(calls).zip(calls).map { case (chain, call) =>
      val json = obj().put("name", call.name)
      json.set[ObjectNode]("arguments", arr(chain.arguments.map { case (e, name) =>
        val argument = obj().put("column", read.indexOf(e))
        name.foreach(argument.put("name", _))
        argument
      }))
      json.set[ObjectNode]("commands", arr(chain.functions.map(function =>
        text(Base64.getEncoder.encodeToString(function.command.toArray)))))
      json
    }))
  }
}
