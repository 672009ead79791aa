package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight, BuildSide, JoinSelectionHelper}
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans.logical.{Join, JoinHint, LogicalPlan, UnaryNode}
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.adaptive.{LogicalQueryStage, QueryStageExec}
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.joins.BroadcastHashJoinExec
import org.apache.spark.sql.internal.SQLConf

/**
 * Plans a broadcast join if the engine can run both sides and one side is small enough for the engine, which broadcasts
 * more than Spark would: a worker process holds one table for all its tasks, and the other side needs no shuffle. If the
 * other side has been shuffled already, the rule saves nothing and does not apply.
 */
class BroadcastStrategy extends SparkStrategy with JoinSelectionHelper {
  import BroadcastStrategy._
  import SemiJoins.sideOf

  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case join @ ExtractEquiJoinKeys(kind, leftKeys, rightKeys, condition, _, left, right, JoinHint.NONE) =>
      val model = new CostModel(SQLConf.get)
      val mayApply = model.canBroadcast && !PlacementSensitiveJoins.isSensitive(join) && isForEngine(left) && isForEngine(right)
      val sides = if (!mayApply) Nil
        else Seq(BuildRight -> canBuildBroadcastRight(kind), BuildLeft -> canBuildBroadcastLeft(kind)).collect {
          case (side, true) => side
        }.sortBy(sideOf(join, _).stats.sizeInBytes)
      val decisions = sides.to(LazyList).map(side => side -> decide(join, side, model))
      val chosen = decisions.find(_._2.choice)
      Decisions.set(join, chosen.orElse(decisions.headOption).map(_._2))
      chosen.toSeq.map { case (side, _) =>
        BroadcastHashJoinExec(leftKeys, rightKeys, kind, side, condition, planLater(left), planLater(right))
      }
    case _ => Nil
  }

  private def decide(join: Join, side: BuildSide, model: CostModel): Decision[Boolean] = {
    val (small, large) = if (side == BuildRight) (join.right, join.left) else (join.left, join.right)
    Policies.broadcast(side, CostModel.tableBytes(small), model.broadcastLimit, isShuffled(large),
      CostModel.scanBytes(small), CostModel.scanBytes(large))
  }
}

object BroadcastStrategy {
  /** Return whether `plan` reads only files of formats, and stages, of the engine. */
  def isForEngine(plan: LogicalPlan): Boolean = plan.collectLeaves().forall {
    case stage: LogicalQueryStage => stage.physicalPlan.collectLeaves().forall {
      case done: QueryStageExec => Convert.isInEngine(done)
      case _ => true
    }
    case l: LogicalRelation => l.relation match {
      case files: HadoopFsRelation => FileFormats.of(files.fileFormat).isDefined
      case _ => false
    }
    case _ => false
  }

  private def isShuffled(plan: LogicalPlan): Boolean = plan match {
    case stage if CostModel.isStage(stage) => true
    case unary: UnaryNode => isShuffled(unary.child)
    case _ => false
  }
}
