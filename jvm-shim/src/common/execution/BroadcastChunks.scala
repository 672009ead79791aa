package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.execution.SparkPlan

/** Finds broadcasts of chunks among a fragment's inputs. They are not streamed: each worker process reads them once. */
object BroadcastChunks {

  /** Return the converted exchange behind `plan`. */
  def of(plan: SparkPlan): Option[PipelineBroadcastExchangeExec] = Exchanges.behind(plan) match {
    case e: PipelineBroadcastExchangeExec => Some(e)
    case _ => None
  }

  def isBroadcast(plan: SparkPlan): Boolean = of(plan).isDefined
}
