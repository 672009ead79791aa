package org.apache.spark.sql.pysparkpipeline

import scala.annotation.tailrec

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.{AQEShuffleReadExec, QueryStageExec}
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec

/** Finds the exchange behind a query stage, a shuffle read or a reused exchange. */
object Exchanges {

  /** Return the operator that computes the rows of `plan`, behind stages, shuffle reads and reused exchanges. */
  @tailrec def behind(plan: SparkPlan): SparkPlan = plan match {
    case stage: QueryStageExec => behind(stage.plan)
    case reused: ReusedExchangeExec => behind(reused.child)
    case read: AQEShuffleReadExec => behind(read.child)
    case other => other
  }
}
