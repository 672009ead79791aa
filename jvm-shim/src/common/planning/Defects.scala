package org.apache.spark.sql.pysparkpipeline

import scala.util.control.NonFatal

import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNode
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.internal.SQLConf

/**
 * Leaves a query to Spark if a step of the extension's planning fails, for instance because this build of Spark lacks a
 * method that the shim was compiled against. A strict session raises the error instead, as every session does for a
 * wrong option.
 */
object Defects extends Logging {

  /** Return what `step` returns; if it fails and the session is not strict, warn and return `otherwise` of the error. */
  def guard[A](isStrict: Boolean, otherwise: Throwable => A)(step: => A): A = try step catch {
    case e: Throwable if !isStrict && isDefect(e) =>
      logWarning("pyspark_pipeline failed while planning, Spark runs the query itself; please report this error", e)
      otherwise(e)
  }

  def guard[A](conf: SQLConf, otherwise: Throwable => A)(step: => A): A =
    guard(Settings.isStrict(conf), otherwise)(step)

  /** Return whether `error` may come from a defect of the extension; a wrong option, and what must end a thread, do not. */
  def isDefect(error: Throwable): Boolean = error match {
    case _: OptionError => false
    case NonFatal(_) | _: LinkageError | _: StackOverflowError => true
    case _ => false
  }
}

/** Runs `rule`; returns the plan unchanged if it fails. */
class GuardedRule[Plan <: TreeNode[_]](rule: Rule[Plan]) extends Rule[Plan] {
  override val ruleName: String = rule.ruleName
  override def apply(plan: Plan): Plan = Defects.guard(conf, _ => plan)(rule(plan))
}

/** Plans by `strategy`; makes no plan if it fails. */
class GuardedStrategy(strategy: SparkStrategy) extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] =
    Defects.guard(SQLConf.get, _ => Seq.empty[SparkPlan])(strategy(plan))
}
