package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.expressions.{Expression, UserDefinedExpression}
import org.apache.spark.sql.catalyst.plans.physical.{Partitioning, RoundRobinPartitioning}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.QueryStageExec
import org.apache.spark.sql.execution.exchange.Exchange
import org.apache.spark.sql.internal.SQLConf

/** When a retry of a map task sends the rows that the task sent before: what Spark must know to retry correctly. */
sealed trait Repeats

object Repeats {
  case object Always extends Repeats
  /** If the rows of the input come in the same order. */
  case object InOrder extends Repeats
  case object Never extends Repeats

  /**
   * Return it for the rows of `child`. The destinations of a round robin depend on the order of the input. So do many
   * nondeterministic expressions; Spark 4.3 compares checksums of the rows, which workers do not compute, and computes all
   * stages above again if they differ. Where Spark does not compare them, it takes such rows to be the same, and so do we.
   */
  def of(partitioning: Partitioning, child: SparkPlan, conf: SQLConf): Repeats = {
    val isCompared = conf.shuffleOrderIndependentChecksumEnabled && conf.shuffleChecksumMismatchFullRetryEnabled
    val changing = if (isCompared) nondeterministic(child) else Nil
    if (changing.exists(_.exists(isUserDefined))) Never
    else if (changing.nonEmpty || partitioning.isInstanceOf[RoundRobinPartitioning]) InOrder
    else Always
  }

  /** Return the nondeterministic expressions of the stage. */
  private def nondeterministic(plan: SparkPlan): Seq[Expression] = plan match {
    case _: Exchange | _: QueryStageExec => Nil
    case fragment: PipelineFragmentExec => nondeterministic(fragment.root)
    case operator: PipelineOperatorExec => nondeterministic(operator.original)
    case _ => plan.expressions.filter(_.exists(!_.deterministic)) ++ plan.children.flatMap(nondeterministic)
  }

  private def isUserDefined(expression: Expression): Boolean = expression match {
    case _: UserDefinedExpression => !expression.deterministic
    case _ => false
  }
}
