package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.LogicalQueryStage
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}

/** Bytes of the files that are read below a plan, finished stages included: what its rows were made of. */
object ScanBytes {

  /** How many times more file bytes the large side of a join must read. */
  private val LargeFactor = 2

  def of(plan: LogicalPlan): BigInt = plan.collectLeaves().map {
    case stage: LogicalQueryStage => of(stage.physicalPlan)
    case LogicalRelationFiles(files) => bytes(files)
    case other => other.stats.sizeInBytes
  }.sum

  def of(plan: SparkPlan): BigInt = operators(plan).collect { case scan: FileSourceScanExec => bytes(scan.relation) }.sum

  /** Spark's operators below `plan`, those in stages and in fragments included. */
  def operators(plan: SparkPlan): Seq[SparkPlan] = Exchanges.behind(plan) match {
    case fragment: PipelineFragmentExec => operators(fragment.root)
    case wait: PipelineWaitExec => operators(wait.child)
    case PipelineOperatorExec(original) => original +: original.children.flatMap(operators)
    case other => other +: other.children.flatMap(operators)
  }

  /** Whether `large` comes from so much more than `small` that sparing its shuffle pays for all else. */
  def outweighs(large: BigInt, small: BigInt): Boolean = large >= small * LargeFactor

  private def bytes(files: HadoopFsRelation): BigInt = BigInt(files.location.sizeInBytes)

  private object LogicalRelationFiles {
    def unapply(plan: LogicalPlan): Option[HadoopFsRelation] = plan match {
      case l: LogicalRelation => Some(l.relation).collect { case files: HadoopFsRelation => files }
      case _ => None
    }
  }
}
