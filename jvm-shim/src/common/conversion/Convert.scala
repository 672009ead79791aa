package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec
import org.apache.spark.sql.execution.exchange.{BroadcastExchangeExec, ShuffleExchangeExec}

/** Replaces one Spark operator or exchange by its counterpart in the engine. */
object Convert {
  /** Return whether `plan` produces chunks. */
  def isInEngine(plan: SparkPlan): Boolean = Exchanges.behind(plan) match {
    case _: PipelineOperatorExec | _: PipelineShuffleExchangeExec | _: PipelineBroadcastExchangeExec |
        _: PipelineFragmentExec => true
    case scan: InMemoryTableScanExec => CachedScans.isRead(scan)
    case _ => false
  }

  def apply(plan: SparkPlan): SparkPlan = {
    val converted = plan match {
      case e: ShuffleExchangeExec =>
        PipelineShuffleExchangeExec(e.outputPartitioning, e.child, e.shuffleOrigin, e.advisoryPartitionSize)
      case e: BroadcastExchangeExec => PipelineBroadcastExchangeExec(e.mode, e.child)
      case other => PipelineOperatorExec(other)
    }
    converted.copyTagsFrom(plan)
    converted
  }
}
