package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.SparkEnv
import org.apache.spark.internal.config.Python.PYSPARK_EXECUTOR_MEMORY
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight, BuildSide, JoinSelectionHelper}
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans.logical.{JoinHint, LogicalPlan, UnaryNode}
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.adaptive.{LogicalQueryStage, QueryStageExec, ShuffleQueryStageExec}
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.execution.joins.BroadcastHashJoinExec
import org.apache.spark.sql.internal.SQLConf

/**
 * Plans a broadcast join where the engine is to run both sides and one of them is small enough for the engine, which
 * may be more than Spark would broadcast: a worker process holds one table for all its tasks, and what the other
 * side saves is a shuffle. Where the other side is shuffled already there is nothing to save.
 */
class BroadcastStrategy extends SparkStrategy with JoinSelectionHelper {
  import BroadcastStrategy._

  private def conf: SQLConf = SQLConf.get

  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case ExtractEquiJoinKeys(kind, leftKeys, rightKeys, condition, _, left, right, JoinHint.NONE)
        if isOn(conf) && isForEngine(left) && isForEngine(right) =>
      val most = mostBytes(conf)
      val sides: Seq[BuildSide] =
        (if (canBuildBroadcastRight(kind) && pays(right, left, most)) Seq(BuildRight) else Nil) ++
          (if (canBuildBroadcastLeft(kind) && pays(left, right, most)) Seq(BuildLeft) else Nil)
      sides.sortBy(side => (if (side == BuildRight) right else left).stats.sizeInBytes).headOption.toSeq.map { side =>
        BroadcastHashJoinExec(leftKeys, rightKeys, kind, side, condition, planLater(left), planLater(right))
      }
    case _ => Nil
  }
}

object BroadcastStrategy {
  /** How much larger than its files a table is taken to be. */
  private val FileFactor = 4

  /** A worker with a memory limit is given broadcasts of this part of it at most: their tables do not spill. */
  private val PartOfMemory = 64

  /** The most bytes to broadcast; 0 where the user wants no broadcast that is not hinted at. */
  def mostBytes(conf: SQLConf): Long =
    if (conf.autoBroadcastJoinThreshold < 0) 0L
    else math.min(Settings.number(conf, "join.broadcastBytes"), workerBytes / PartOfMemory)

  private def workerBytes: Long =
    Option(SparkEnv.get).flatMap(_.conf.get(PYSPARK_EXECUTOR_MEMORY)).map(_ << 20).getOrElse(Long.MaxValue)

  /** Whether the engine takes part in what is planned, and may broadcast. */
  def isOn(conf: SQLConf): Boolean =
    Settings.flag(conf, "enabled") && mostBytes(conf) > 0 && PythonProbe.reportedMissing.isEmpty

  /** Whether statistics call `plan` small: those of a finished stage are bytes of chunks, others go by files. */
  def isSmall(plan: LogicalPlan, most: Long): Boolean = {
    val factor = if (plan.exists(isStage)) 1 else FileFactor
    plan.stats.sizeInBytes * factor <= most
  }

  /** Whether to broadcast `small` and leave `large`, which comes from more data, where it is. */
  private def pays(small: LogicalPlan, large: LogicalPlan, most: Long): Boolean =
    isSmall(small, most) && !isShuffled(large) && ScanBytes.outweighs(ScanBytes.of(large), ScanBytes.of(small))

  /** Whether all that `plan` reads is Parquet or comes from stages of the engine. */
  def isForEngine(plan: LogicalPlan): Boolean = plan.collectLeaves().forall {
    case stage: LogicalQueryStage => stage.physicalPlan.collectLeaves().forall {
      case done: QueryStageExec => Wrapping.isInEngine(done)
      case _ => true
    }
    case l: LogicalRelation => l.relation match {
      case files: HadoopFsRelation => files.fileFormat.isInstanceOf[ParquetFileFormat]
      case _ => false
    }
    case _ => false
  }

  /** Whether `plan` stands for operators over a stage (it may stand for some that wait for one: see Deferral). */
  private def isStage(plan: LogicalPlan): Boolean = plan match {
    case l: LogicalQueryStage => l.physicalPlan.collectLeaves().exists(_.isInstanceOf[ShuffleQueryStageExec])
    case _ => false
  }

  private def isShuffled(plan: LogicalPlan): Boolean = plan match {
    case stage if isStage(stage) => true
    case unary: UnaryNode => isShuffled(unary.child)
    case _ => false
  }
}
