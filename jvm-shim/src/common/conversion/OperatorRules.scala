package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.aggregate._
import org.apache.spark.sql.execution.datasources.WriteFilesExec
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.execution.exchange.Exchange
import org.apache.spark.sql.execution.joins._
import org.apache.spark.sql.execution.python._
import org.apache.spark.sql.execution.window.{WindowExec, WindowGroupLimitExec}

/** Maps each Catalyst operator to its rule. The engine supports an operator if it has a rule and the manifest lists it. */
object OperatorRules {

  private val rules: Map[Class[_ <: SparkPlan], OperatorRule[_ <: SparkPlan]] = Map(
    classOf[FileSourceScanExec] -> ScanRule,
    classOf[RangeExec] -> RangeRule,
    classOf[LocalTableScanExec] -> LocalTableRule,
    classOf[OneRowRelationExec] -> OneRowRule,
    classOf[BatchScanExec] -> PythonScanRule,
    classOf[ProjectExec] -> ProjectRule,
    classOf[FilterExec] -> FilterRule,
    classOf[ExpandExec] -> ExpandRule,
    classOf[GenerateExec] -> GenerateRule,
    classOf[SampleExec] -> SampleRule,
    classOf[ArrowEvalPythonExec] -> ArrowEvalPythonRule,
    classOf[BatchEvalPythonExec] -> BatchEvalPythonRule,
    classOf[ArrowEvalPythonUDTFExec] -> ArrowEvalPythonUDTFRule,
    classOf[BatchEvalPythonUDTFExec] -> BatchEvalPythonUDTFRule,
    classOf[MapInArrowExec] -> MapInArrowRule,
    classOf[MapInPandasExec] -> MapInPandasRule,
    classOf[FlatMapGroupsInPandasExec] -> FlatMapGroupsInPandasRule,
    classOf[FlatMapGroupsInArrowExec] -> FlatMapGroupsInArrowRule,
    classOf[FlatMapCoGroupsInPandasExec] -> FlatMapCoGroupsInPandasRule,
    classOf[FlatMapCoGroupsInArrowExec] -> FlatMapCoGroupsInArrowRule,
    classOf[ArrowAggregatePythonExec] -> ArrowAggregatePythonRule,
    classOf[ArrowWindowPythonExec] -> ArrowWindowPythonRule,
    classOf[CoalesceExec] -> CoalesceRule,
    classOf[CollectMetricsExec] -> CollectMetricsRule,
    classOf[LocalLimitExec] -> LimitRule,
    classOf[GlobalLimitExec] -> LimitRule,
    classOf[UnionExec] -> UnionRule,
    classOf[HashAggregateExec] -> HashAggregateRule,
    classOf[ObjectHashAggregateExec] -> ObjectHashAggregateRule,
    classOf[SortAggregateExec] -> SortAggregateRule,
    classOf[SortMergeJoinExec] -> SortMergeJoinRule,
    classOf[ShuffledHashJoinExec] -> ShuffledHashJoinRule,
    classOf[BroadcastHashJoinExec] -> BroadcastHashJoinRule,
    classOf[BroadcastNestedLoopJoinExec] -> NestedLoopJoinRule,
    classOf[CartesianProductExec] -> CartesianProductRule,
    classOf[SortExec] -> SortRule,
    classOf[TakeOrderedAndProjectExec] -> TakeOrderedRule,
    classOf[WriteFilesExec] -> WriteFilesRule,
    classOf[UpdatingSessionsExec] -> UpdatingSessionsRule,
    classOf[MergingSessionsExec] -> MergingSessionsRule,
    classOf[WindowExec] -> WindowRule,
    classOf[WindowGroupLimitExec] -> WindowGroupLimitRule)

  /** Return the rule of `op`; [[SparkOnlyRule]] if it has none. */
  def of[T <: SparkPlan](op: T): OperatorRule[T] =
    rules.getOrElse(op.getClass, SparkOnlyRule).asInstanceOf[OperatorRule[T]]

  /** Return the rule of an operator that reads data by itself. */
  def ofSource[T <: SparkPlan](op: T): SourceRule[T] = of(op) match {
    case source: SourceRule[T @unchecked] => source
    case _ => throw new IllegalStateException(s"${op.nodeName.trim} is not a source")
  }

  def isSupported(op: SparkPlan): Boolean =
    rules.contains(op.getClass) && Manifest.operators.contains(op.getClass.getSimpleName)

  /** The simple names of the classes that have rules, sorted and separated by commas, for callers outside the JVM. */
  def names: String = rules.keys.map(_.getSimpleName).toSeq.sorted.mkString(",")
}

/** The rule of operators that stay in Spark. They matter to converted operators below them. */
object SparkOnlyRule extends OperatorRule[SparkPlan] {
  override def limitation(op: SparkPlan): Option[String] = Some(s"${op.nodeName.trim} is not supported")

  override def keepsInputOrder(op: SparkPlan): Boolean = op match {
    case _: Exchange | _: BaseAggregateExec => false
    case _ => true
  }

  override def movesRows(op: SparkPlan): Boolean = op match {
    case a: BaseAggregateExec => a.groupingExpressions.nonEmpty
    case _ => false
  }
}
