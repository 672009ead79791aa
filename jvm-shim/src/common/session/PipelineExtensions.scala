package org.pysparkpipeline

import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.pysparkpipeline.{BroadcastStrategy, ColumnarHook, EarlyReduction, EmptyAggregations,
  FilteredTotalStrategy, FilteredTotals, GlobalAggregations, GuardedRule, GuardedStrategy, JoinOrder,
  PlacementSensitiveJoins, ScalarSubqueries, SemiJoinReduction, SessionSettings, SharedAggregationStrategy,
  SharedAggregations, SingleJoinStrategy, StagePreparation, UnionCoalescing}

/**
 * Adds the extension's rules to Spark's planning, in the order in which they run:
 *
 *  1. `PlacementSensitiveJoins` (optimizer) marks the joins that must not be broadcast. `FilteredTotals` computes global
 *     aggregations of the same rows with different filters in one, `ScalarSubqueries` marks the plans that return one row,
 *     `SharedAggregations` moves filters of NULL keys above aggregations that occur twice, `JoinOrder` joins wide tables
 *     last, `EarlyReduction` inserts semi joins that drop rows earlier than a join above would, `GlobalAggregations`
 *     computes global aggregations of scalar subqueries from groups that the query computes anyway.
 *  2. `BroadcastStrategy` (planner strategy) plans broadcast joins for the other joins if the engine can broadcast a side,
 *     `SharedAggregationStrategy` the filters that `SharedAggregations` moved, `FilteredTotalStrategy` the aggregations
 *     that `FilteredTotals` merged, `SingleJoinStrategy` hash joins for scalar subqueries whose rows are too many to
 *     broadcast.
 *  3. `StagePreparation` (query-stage preparation, AQE on) receives the whole physical plan after `EnsureRequirements`,
 *     and again at every replan; it converts each supported operator to a `PipelineOperatorExec` and its exchanges to
 *     `PipelineShuffleExchangeExec`. Operators remain single nodes, because AQE links stages to the logical nodes of
 *     single operators.
 *  4. `UnionCoalescing` (AQE's optimizer of a stage) coalesces the shuffle partitions of each input of a union.
 *  5. `ColumnarHook` (columnar rule, before transitions): with AQE on it receives one stage at a time and fuses the
 *     converted operators into one `PipelineFragmentExec`; with AQE off it does both steps.
 *  6. `EmptyAggregations` (AQE's optimizer) replaces aggregations of an empty stage by empty relations.
 *  7. `SemiJoinReduction` (AQE's optimizer) inserts semi joins when one side of a join has run; then AQE replans.
 *
 * A rule that fails leaves the plan to Spark (`Defects`).
 */
class PipelineExtensions extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit = {
    SessionSettings.applyWithoutPlugin()
    extensions.injectPlannerStrategy(_ => new GuardedStrategy(new BroadcastStrategy))
    extensions.injectPlannerStrategy(_ => new GuardedStrategy(SharedAggregationStrategy))
    extensions.injectPlannerStrategy(_ => new GuardedStrategy(FilteredTotalStrategy))
    extensions.injectPlannerStrategy(_ => new GuardedStrategy(SingleJoinStrategy))
    extensions.injectPreCBORule(_ => new GuardedRule(PlacementSensitiveJoins))
    extensions.injectPreCBORule(_ => new GuardedRule(FilteredTotals))
    extensions.injectPreCBORule(_ => new GuardedRule(ScalarSubqueries))
    extensions.injectPreCBORule(_ => new GuardedRule(SharedAggregations))
    extensions.injectPreCBORule(_ => new GuardedRule(JoinOrder))
    extensions.injectPreCBORule(_ => new GuardedRule(EarlyReduction))
    extensions.injectPreCBORule(_ => new GuardedRule(GlobalAggregations))
    extensions.injectRuntimeOptimizerRule(_ => new GuardedRule(EmptyAggregations))
    extensions.injectRuntimeOptimizerRule(_ => new GuardedRule(SemiJoinReduction))
    extensions.injectQueryStagePrepRule(session => StagePreparation(session))
    extensions.injectQueryStageOptimizerRule(session => new GuardedRule(UnionCoalescing(session)))
    extensions.injectColumnar(session => ColumnarHook(session))
  }
}
