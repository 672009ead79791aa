package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{ColumnarRule, SparkPlan}

/** Converts the whole plan in query-stage preparation (AQE on). */
case class StagePreparation(session: SparkSession) extends Rule[SparkPlan] {
  override def apply(plan: SparkPlan): SparkPlan =
    Conversion.ifEnabled(plan)(new Conversion(conf, isAdaptive = true).apply(_))
}

/** Fuses converted operators as a columnar rule; with AQE off, converts the plan first. */
case class ColumnarHook(session: SparkSession) extends ColumnarRule {
  override def preColumnarTransitions: Rule[SparkPlan] = new Rule[SparkPlan] {
    override def apply(plan: SparkPlan): SparkPlan = {
      val converted =
        if (Conversion.isDecided(plan)) plan
        else Conversion.ifEnabled(plan)(new Conversion(conf, isAdaptive = false).apply(_))
      Conversion.guard(converted)(Fusion(converted))
    }
  }
}
