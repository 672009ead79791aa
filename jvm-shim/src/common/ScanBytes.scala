package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.{LogicalQueryStage, QueryStageExec}
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec

/** Bytes of the files that are read below a plan, finished stages included: what its rows were made of. */
object ScanBytes {

  def of(plan: LogicalPlan): BigInt = plan.collectLeaves().map {
    case stage: LogicalQueryStage => of(stage.physicalPlan)
    case LogicalRelationFiles(files) => BigInt(files.sizeInBytes)
    case other => other.stats.sizeInBytes
  }.sum

  def of(plan: SparkPlan): BigInt = plan match {
    case stage: QueryStageExec => of(stage.plan)
    case reused: ReusedExchangeExec => of(reused.child)
    case fragment: PipelineFragmentExec => of(fragment.root)
    case PipelineOperatorExec(scan: FileSourceScanExec) => of(scan)
    case scan: FileSourceScanExec => BigInt(scan.relation.sizeInBytes)
    case other => other.children.map(of(_: SparkPlan)).sum
  }

  private object LogicalRelationFiles {
    def unapply(plan: LogicalPlan): Option[HadoopFsRelation] = plan match {
      case l: LogicalRelation => Some(l.relation).collect { case files: HadoopFsRelation => files }
      case _ => None
    }
  }
}
