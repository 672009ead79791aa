package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight, JoinSelectionHelper}
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.adaptive.{LogicalQueryStage, QueryStageExec, ShuffleQueryStageExec}

/**
 * Drops rows of a join's large side right above their scan, when the small side is there and holds few keys (AQE on):
 * a semi join with the small side's keys, before the large side is shuffled or aggregated. [[Deferral]] has let the
 * large side wait, so no stage of it has begun.
 */
object SemiJoinReduction extends Rule[LogicalPlan] with JoinSelectionHelper {
  import SemiJoins._

  /** On a logical operator whose stage waits for the other side of a join. */
  val Waits: TreeNodeTag[Boolean] = TreeNodeTag[Boolean]("pysparkpipeline.waits")

  override def apply(plan: LogicalPlan): LogicalPlan =
    if (!plan.exists(isWaiting) || !isOn(conf)) plan
    else plan.transform { case join: Join if !isReduction(join) => reduced(join) }

  def isWaiting(plan: LogicalPlan): Boolean = plan.getTagValue(Waits).isDefined

  private def reduced(join: Join): Join = join match {
    case ExtractEquiJoinKeys(kind, leftKeys, rightKeys, _, _, left, right, _) =>
      val keys = plain(leftKeys, rightKeys)
      def isBroadcast(small: LogicalPlan, canBuild: Boolean): Boolean =
        canBuild && BroadcastStrategy.isSmall(small, BroadcastStrategy.mostBytes(conf))
      val changedRight = if (!drops(kind, BuildRight)) None
        else reducedSide(right, left, keys.map(_.swap), isBroadcast(left, canBuildBroadcastLeft(kind)))
      val changedLeft = if (changedRight.isDefined || !drops(kind, BuildLeft)) None
        else reducedSide(left, right, keys, isBroadcast(right, canBuildBroadcastRight(kind)))
      if (changedLeft.isEmpty && changedRight.isEmpty) join
      else join.copy(left = changedLeft.getOrElse(left), right = changedRight.getOrElse(right))
    case _ => join
  }

  /** `isBroadcast` says that the join itself, being a broadcast join, spares the large side a shuffle. */
  private def reducedSide(
      large: LogicalPlan, small: LogicalPlan, keys: Keys, isBroadcast: Boolean): Option[LogicalPlan] = {
    if (!large.exists(isWaiting)) None
    else source(small, keys).flatMap { case (stage, found) =>
      new Pushdown(_ => true, (scan, under, isShuffled) =>
        if (isShuffled) Some(semiJoin(scan, under, stage)).filter(pays) else None).apply(large, found, !isBroadcast)
    }
  }

  /** The finished stage that has a row for each row of `plan`, and the keys by its attributes. */
  private def source(plan: LogicalPlan, keys: Keys): Option[(LogicalPlan, Keys)] = plan match {
    case _ if keys.isEmpty => None
    // What lies above the stage in it is computed again, and must give the same keys.
    case stage: LogicalQueryStage => Some(stage -> keys).filter(_ => isDone(stage) && stage.logicalPlan.deterministic)
    case p: Project => source(p.child, keys.flatMap { case (l, s) => below(p.projectList, s).map(l -> _) })
    case f: Filter => source(f.child, keys)
    case j: Join => kept(j.joinType).map(sideOf(j, _)).flatMap { side =>
      source(side, keys.filter { case (_, s) => side.outputSet.contains(s) })
    }.headOption
    case _ => None
  }

  private def isDone(stage: LogicalQueryStage): Boolean = {
    val leaves = stage.physicalPlan.collectLeaves()
    leaves.exists(_.isInstanceOf[ShuffleQueryStageExec]) && leaves.forall {
      case leaf: QueryStageExec => leaf.isMaterialized && Wrapping.isInEngine(leaf)
      case _ => false
    }
  }

  private def pays(semi: Join): Boolean =
    BroadcastStrategy.isSmall(semi.right, BroadcastStrategy.mostBytes(conf)) &&
      (isForced(conf) || isWorth(ScanBytes.of(semi.left), semi.right.stats.sizeInBytes))
}
