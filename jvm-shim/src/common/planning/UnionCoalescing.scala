package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.physical.{BroadcastPartitioning, UnknownPartitioning}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode, UnionExec}
import org.apache.spark.sql.execution.adaptive.{AQEShuffleReadExec, CoalesceShufflePartitions}

/**
 * Coalesces the shuffle partitions of each input of a union in a query stage. AQE does so for Spark's unions; it takes
 * the inputs of a union in the engine for those of a join, which must have equally many partitions, and lets them be if
 * they have not.
 */
case class UnionCoalescing(session: SparkSession) extends Rule[SparkPlan] {

  private val coalesce = CoalesceShufflePartitions(session)

  override def apply(plan: SparkPlan): SparkPlan = plan match {
    case PipelineOperatorExec(union: UnionExec) if union.outputPartitioning.isInstanceOf[UnknownPartitioning] =>
      plan.mapChildren { input =>
        val made = apply(input)
        if ((made eq input) && !input.exists(_.isInstanceOf[AQEShuffleReadExec])) coalesce(input) else made
      }
    case _: PipelineOperatorExec | _: PipelineTakeOrderedExec | _: UnaryExecNode
        if plan.children.count(!isBroadcast(_)) == 1 =>
      plan.mapChildren(input => if (isBroadcast(input)) input else apply(input))
    case other => other
  }

  private def isBroadcast(plan: SparkPlan): Boolean = plan.outputPartitioning.isInstanceOf[BroadcastPartitioning]
}
