package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.api.python.PythonBroadcast
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.execution.SparkPlan

/** Broadcasts of chunks as inputs of a fragment. They are not streamed: each worker process reads them once. */
object BroadcastChunks {

  /** The converted exchange that `plan` is, or stands for. */
  def of(plan: SparkPlan): Option[PipelineBroadcastExchangeExec] = Exchanges.behind(plan) match {
    case e: PipelineBroadcastExchangeExec => Some(e)
    case _ => None
  }

  def isBroadcast(plan: SparkPlan): Boolean = of(plan).isDefined

  /** The broadcasts that the fragment under `root` reads, by their number in the fragment; waits for their jobs. */
  def inputs(root: SparkPlan): Seq[Broadcast[PythonBroadcast]] =
    Fusion.inputs(root).flatMap(of).map(_.chunkBroadcast)
}
