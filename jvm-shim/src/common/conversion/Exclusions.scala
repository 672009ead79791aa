package org.apache.spark.sql.pysparkpipeline

import java.util.Locale

import org.apache.spark.sql.catalyst.analysis.FunctionRegistry
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.internal.SQLConf

/**
 * The functions and operators that the user keeps in Spark (option `exclude`). A function has the names of
 * [[ExpressionOrigin.names]]; an operator that of its class, with or without `Exec`. Letters of both cases are equal.
 */
class Exclusions(names: Set[String]) {
  import Exclusions._

  /** Return the reason against `e`; None if no name of it is excluded. */
  def reason(e: Expression): Option[String] =
    if (names.isEmpty) None else ExpressionOrigin.names(e).find(n => names(lower(n))).map(n => s"$n is excluded ($Key)")

  /** Return the reason against `op`; None if it is not excluded. */
  def reason(op: SparkPlan): Option[String] =
    if (names.isEmpty) None
    else operatorNames(op.getClass.getSimpleName).find(n => names(lower(n))).map(n => s"$n is excluded ($Key)")
}

object Exclusions {
  private val Key = Settings.Prefix + "exclude"

  /** Excludes nothing. */
  val none: Exclusions = new Exclusions(Set.empty)

  def of(conf: SQLConf): Exclusions = new Exclusions(parsed(Settings.text(conf, "exclude")).map(lower).toSet)

  /** Return the names in `value` that neither a function nor an operator has. */
  def unknown(value: String): Seq[String] = parsed(value).filterNot(name => lowerKnown(lower(name)))

  /** Made once: options are checked in every step of planning. */
  private lazy val lowerKnown: Set[String] = known.map(lower).toSet

  /** Return all names that the option takes: of functions in SQL and in the manifest, and of operators. */
  def known: Seq[String] = {
    val functions = FunctionRegistry.builtin.listFunction().map(_.funcName) ++
      Manifest.expressions.keys ++ Manifest.aggregates.keys ++ Manifest.windows.keys
    functions ++ (OperatorRules.names.split(',') ++ Seq("ShuffleExchangeExec", "BroadcastExchangeExec")).flatMap(operatorNames)
  }

  private def parsed(value: String): Seq[String] = value.split(',').map(_.trim).filter(_.nonEmpty).toSeq

  private def operatorNames(simpleName: String): Seq[String] = Seq(simpleName, simpleName.stripSuffix("Exec"))

  private def lower(name: String): String = name.toLowerCase(Locale.ROOT)
}
