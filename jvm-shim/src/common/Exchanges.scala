package org.apache.spark.sql.pysparkpipeline

import scala.annotation.tailrec

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.{AQEShuffleReadExec, QueryStageExec}
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec

/** Exchanges, and what stands for them once they run or are used again. */
object Exchanges {

  /** The operator that makes what `plan` gives: the one behind stages, reads of shuffles and reused exchanges. */
  @tailrec def behind(plan: SparkPlan): SparkPlan = plan match {
    case stage: QueryStageExec => behind(stage.plan)
    case reused: ReusedExchangeExec => behind(reused.child)
    case read: AQEShuffleReadExec => behind(read.child)
    case other => other
  }
}
