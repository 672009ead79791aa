package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.{AQEPropagateEmptyRelation, LogicalQueryStage, QueryStageExec}
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.internal.SQLConf

/**
 * Replaces a converted aggregation by keys over an empty stage by an empty relation, and propagates it (AQE on). Spark's
 * rule does the same for its own aggregations, which it finds by their class.
 */
object EmptyAggregations extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan =
    if (isExcluded || !plan.exists(isEmpty)) plan
    else AQEPropagateEmptyRelation(plan.transform {
      case stage if isEmpty(stage) => LocalRelation(stage.output, Nil, stage.isStreaming)
    })

  private def isEmpty(plan: LogicalPlan): Boolean = plan match {
    case LogicalQueryStage(_, PipelineOperatorExec(a: BaseAggregateExec)) =>
      a.groupingExpressions.nonEmpty && isEmptyStage(a.child)
    case _ => false
  }

  private def isEmptyStage(plan: SparkPlan): Boolean = plan match {
    case stage: QueryStageExec => stage.isMaterialized && stage.getRuntimeStatistics.rowCount.contains(BigInt(0))
    case _ => false
  }

  /** Return whether the user excluded Spark's rule. */
  private def isExcluded: Boolean =
    conf.getConf(SQLConf.ADAPTIVE_OPTIMIZER_EXCLUDED_RULES).exists(_.split(',').exists(_.trim == AQEPropagateEmptyRelation.ruleName))
}
