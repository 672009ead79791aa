package org.apache.spark.sql

import org.apache.spark.sql.execution.SparkPlan

/** Spark's extended explain, `spark.sql.extendedExplainProviders`, in Spark's own package: see `ExplainProvider`. */
class PipelineExplain extends ExtendedExplainGenerator {
  override def title: String = "Pipelines"
  override def generateExtendedInfo(plan: SparkPlan): String = PipelineExplain.text(plan)
}

object PipelineExplain {

  /** The text for a plan, set by the shim. */
  @volatile var text: SparkPlan => String = _ => ""
}
