package org.pysparkpipeline

import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.pysparkpipeline.{BroadcastStrategy, ColumnarHook, EarlyReduction, SemiJoinReduction,
  StagePreparation}

/**
 * Where the extension enters Spark's planning, in the order the hooks run:
 *
 *  0. `BroadcastStrategy` (planner strategy): joins whose one side the engine can broadcast.
 *     Semi joins drop early what a join drops late: `EarlyReduction` (optimizer), and `SemiJoinReduction` (AQE's) where
 *     one side of the join has run.
 *  1. `StagePreparation` (query-stage preparation, AQE on): sees the whole physical plan after
 *     `EnsureRequirements`, again at every re-plan; wraps each operator that shall move in a
 *     `PipelineOperatorExec` and each of its exchanges in a `PipelineShuffleExchangeExec`. Operators stay
 *     single nodes here, because AQE ties stages to the logical nodes of single operators.
 *  2. `ColumnarHook` (columnar rule, before transitions): with AQE on it sees one stage at a time and fuses
 *     wrapped operators into one `PipelineFragmentExec`; with AQE off it does both steps.
 */
class PipelineExtensions extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit = {
    extensions.injectPlannerStrategy(_ => new BroadcastStrategy)
    extensions.injectPreCBORule(_ => EarlyReduction)
    extensions.injectRuntimeOptimizerRule(_ => SemiJoinReduction)
    extensions.injectQueryStagePrepRule(session => StagePreparation(session))
    extensions.injectColumnar(session => ColumnarHook(session))
  }
}
