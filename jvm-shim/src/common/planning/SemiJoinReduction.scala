package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight, JoinSelectionHelper}
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.adaptive.{LogicalQueryStage, QueryStageExec, ShuffleQueryStageExec}

/**
 * Drops rows of a join's large side directly above its scan once the small side has run and has few keys (AQE on): it
 * inserts a semi join with the small side's keys before the large side is shuffled or aggregated. [[StageOrdering]] has
 * delayed the large side, so none of its stages has started.
 */
object SemiJoinReduction extends Rule[LogicalPlan] with JoinSelectionHelper {
  import SemiJoins._

  /** Marks a logical operator whose stage waits for the other side of a join. */
  val Waits: TreeNodeTag[Boolean] = TreeNodeTag[Boolean]("pysparkpipeline.waits")

  override def apply(plan: LogicalPlan): LogicalPlan =
    if (!plan.exists(isWaiting)) plan
    else {
      val model = new CostModel(conf)
      if (!model.canReduce) plan else plan.transform { case join: Join if !isReduction(join) => reduced(join, model) }
    }

  def isWaiting(plan: LogicalPlan): Boolean = plan.getTagValue(Waits).isDefined

  private def reduced(join: Join, model: CostModel): Join = join match {
    case ExtractEquiJoinKeys(kind, leftKeys, rightKeys, _, _, left, right, _) =>
      val keys = comparableKeys(leftKeys, rightKeys)
      val changedRight = if (!drops(kind, BuildRight)) None
        else reducedSide(right, left, keys.map(_.swap), canBuildBroadcastLeft(kind) && model.fits(left), model)
      val changedLeft = if (changedRight.isDefined || !drops(kind, BuildLeft)) None
        else reducedSide(left, right, keys, canBuildBroadcastRight(kind) && model.fits(right), model)
      if (changedLeft.isEmpty && changedRight.isEmpty) join
      else join.copy(left = changedLeft.getOrElse(left), right = changedRight.getOrElse(right))
    case _ => join
  }

  /** Reduce `large` by the keys of `small`; `isBroadcast` if the join will be a broadcast join, which needs no shuffle. */
  private def reducedSide(
      large: LogicalPlan, small: LogicalPlan, keys: Keys, isBroadcast: Boolean, model: CostModel): Option[LogicalPlan] = {
    if (!large.exists(isWaiting)) None
    else source(small, keys).flatMap { case (stage, found) =>
      new SemiJoinPushdown(_ => true, (scan, under, isShuffled) =>
        if (isShuffled) semiJoinIfWorth(scan, under, stage, model) else None).apply(large, found, !isBroadcast)
    }
  }

  /** Return the finished stage that has a row for each row of `plan`, with the keys as its attributes. */
  private def source(plan: LogicalPlan, keys: Keys): Option[(LogicalPlan, Keys)] = plan match {
    case _ if keys.isEmpty => None
    // The operators above the stage run again and must return the same keys.
    case stage: LogicalQueryStage => Some(stage -> keys).filter(_ => isDone(stage) && stage.logicalPlan.deterministic)
    case p: Project => source(p.child, keys.flatMap { case (l, s) => attributeBelow(p.projectList, s).map(l -> _) })
    case f: Filter => source(f.child, keys)
    case j: Join => preservedSides(j.joinType).map(sideOf(j, _)).flatMap { side =>
      source(side, keys.filter { case (_, s) => side.outputSet.contains(s) })
    }.headOption
    case _ => None
  }

  private def isDone(stage: LogicalQueryStage): Boolean = {
    val leaves = stage.physicalPlan.collectLeaves()
    leaves.exists(_.isInstanceOf[ShuffleQueryStageExec]) && leaves.forall {
      case leaf: QueryStageExec => leaf.isMaterialized && Convert.isInEngine(leaf)
      case _ => false
    }
  }

  private def semiJoinIfWorth(scan: LogicalPlan, keys: Keys, stage: LogicalPlan, model: CostModel): Option[Join] = {
    val columns = keyColumns(stage, keys)
    if (!model.fits(columns)) None
    else {
      val decision = Policies.reduction(
        "a finished stage", CostModel.scanBytes(scan), columns.stats.sizeInBytes, minimum = 0, model.forcesReduction)
      if (decision.choice) Some(semiJoin(scan, keys, stage, decision)) else None
    }
  }
}
