package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.SparkEnv
import org.apache.spark.internal.config.Python.PYSPARK_EXECUTOR_MEMORY
import org.apache.spark.sql.catalyst.plans.logical.{Expand, Generate, LogicalPlan}
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.{LogicalQueryStage, ShuffleQueryStageExec}
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.internal.SQLConf

/**
 * The limits of a session by which [[Policies]] decide. `docs/decisions/cost-model.md` states where each limit and factor
 * comes from.
 */
class CostModel(conf: SQLConf) {
  import CostModel._

  private def reduction: String = Settings.text(conf, "join.reduction")

  private def order: String = Settings.text(conf, "join.order")

  /** The maximum bytes of rows to broadcast; 0 if the user disabled broadcasts without a hint. */
  lazy val broadcastLimit: Long =
    if (conf.autoBroadcastJoinThreshold < 0) 0L
    else math.min(Settings.number(conf, "join.broadcastBytes"), workerBytes / BroadcastsPerWorker)

  /** The maximum bytes of rows that a global sort collects in one partition. */
  lazy val gatherLimit: Long = Settings.number(conf, "sort.gatherBytes")

  /** The minimum bytes of files that a region reads. */
  lazy val minScanBytes: Long = Settings.number(conf, "cost.minScanBytes")

  /** Return whether to keep plans in Spark that would be slower in the engine. */
  lazy val isOn: Boolean = Settings.flag(conf, "cost.enabled")

  lazy val jvmInput: String = Settings.text(conf, "jvmInput")

  /** Return whether the engine is enabled and ready, and may broadcast. */
  def canBroadcast: Boolean = Settings.flag(conf, "enabled") && broadcastLimit > 0 && Readiness.obstacle.isEmpty

  /** Return whether semi joins may drop rows early. */
  def canReduce: Boolean = canBroadcast && reduction != "never"

  /** Return whether a rule may change the order of joins. */
  def canOrder: Boolean = Settings.flag(conf, "enabled") && order != "never" && Readiness.obstacle.isEmpty

  /** Return whether to change the order of joins regardless of sizes. */
  lazy val forcesOrder: Boolean = order == "always"

  /** Return whether to drop rows early regardless of sizes. */
  lazy val forcesReduction: Boolean = reduction == "always"

  /** Return whether the rows of `plan` can be broadcast. */
  def fits(plan: LogicalPlan): Boolean = tableBytes(plan) <= broadcastLimit
}

/** Estimates of plans, in bytes, and factors between estimates. */
object CostModel {

  /** The size of a table's rows relative to its Parquet files. */
  private val RowsPerFileByte = 4

  /** A broadcast uses at most this fraction of a worker's memory limit, because its table does not spill. */
  private val BroadcastsPerWorker = 64

  /** The other side of a join must read this many times the file bytes of a side to be worth a special treatment. */
  val LargeFactor = 2

  /** The scan that a semi join reduces must read this many times the bytes of the keys. */
  val ReductionFactor = 8

  /** A scan of fewer bytes is not worth a semi join: 256 KiB. */
  val MinReducedBytes: BigInt = BigInt(1L << 18)

  /** An outer join builds the preserved side only if the other side is this many times larger. */
  val PreservedFactor = 4

  /** Rows of at least this many bytes are wide, where Spark takes a text for 20: joins by other keys should not shuffle them. */
  val WideBytes = 64

  /** Spark evaluates expressions of an operator for the engine in at most this many calls. */
  val JvmCalls = 4

  private def workerBytes: Long =
    Option(SparkEnv.get).flatMap(_.conf.get(PYSPARK_EXECUTOR_MEMORY)).map(_ << 20).getOrElse(Long.MaxValue)

  /** Return the bytes of the rows of `plan`, by the chunks of a finished stage, else by the size of files. */
  def tableBytes(plan: LogicalPlan): BigInt =
    plan.stats.sizeInBytes * (if (plan.exists(isStage)) 1 else RowsPerFileByte)

  /** Return the bytes that a sort receives: those read below if fewer. Spark estimates a join as the product of its sides. */
  def sortedBytes(plan: LogicalPlan): BigInt = {
    val multiplies = plan.exists(p => p.isInstanceOf[Generate] || p.isInstanceOf[Expand])
    val read = if (multiplies) None else Some(plan.collectLeaves().map(_.stats.sizeInBytes).sum)
    read.fold(plan.stats.sizeInBytes)(_.min(plan.stats.sizeInBytes))
  }

  /** Return the bytes of the files that are read below `plan`, also below finished stages. */
  def scanBytes(plan: LogicalPlan): BigInt = plan.collectLeaves().map {
    case stage: LogicalQueryStage => scanBytes(stage.physicalPlan)
    case relation: LogicalRelation => relation.relation match {
      case files: HadoopFsRelation => BigInt(files.location.sizeInBytes)
      case _ => relation.stats.sizeInBytes
    }
    case other => other.stats.sizeInBytes
  }.sum

  def scanBytes(plan: SparkPlan): BigInt =
    operators(plan).collect { case scan: FileSourceScanExec => BigInt(scan.relation.location.sizeInBytes) }.sum

  /** Return Spark's operators below `plan`, including those in stages and fragments. */
  def operators(plan: SparkPlan): Seq[SparkPlan] = Exchanges.behind(plan) match {
    case fragment: PipelineFragmentExec => operators(fragment.root)
    case wait: PipelineWaitExec => operators(wait.child)
    case PipelineOperatorExec(original) => original +: original.children.flatMap(operators)
    case other => other +: other.children.flatMap(operators)
  }

  /** Return whether `plan` represents operators over a stage; it may represent delayed ones (see [[StageOrdering]]). */
  def isStage(plan: LogicalPlan): Boolean = plan match {
    case l: LogicalQueryStage => l.physicalPlan.collectLeaves().exists(_.isInstanceOf[ShuffleQueryStageExec])
    case _ => false
  }
}
