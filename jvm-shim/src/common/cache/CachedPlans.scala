package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.execution.{ColumnarToRowExec, InputAdapter, SparkPlan, WholeStageCodegenExec}
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec

/** Converts plans for Spark's cache: they pay in the engine even without a heavy operator, because no row leaves it. */
object CachedPlans {

  /** Return a plan, which Spark planned for a result of rows, as one fragment; None if Spark must run a part of it. */
  def converted(plan: SparkPlan): Option[SparkPlan] = plan match {
    case _: AdaptiveSparkPlanExec => None
    case _ if !Settings.flag(plan.conf, "cache.enabled") => None
    case _ if PlanCounter.endsInEngine(plan) => None
    case _ =>
      val plain = plan.transformUp {
        case stage: WholeStageCodegenExec => stage.child
        case adapter: InputAdapter => adapter.child
        case transition: ColumnarToRowExec => transition.child
      }
      Some(Fusion(Conversion.ifEnabled(plain)(new Conversion(plan.conf, isAdaptive = false, isCached = true).apply(_))))
        .collect { case fragment: PipelineFragmentExec if fragment.children.forall(CachedScans.isRead) => fragment }
  }
}
