package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.expressions.SubqueryExpression
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans.Inner
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.LogicalRelation

/**
 * Drops rows of a large table directly above its scan if a join with a small, filtered table would drop them only after
 * their shuffle (optimizer, before join planning). A reduced table may in turn reduce another. The rule keeps the plan
 * if no shuffle gets smaller.
 */
object EarlyReduction extends Rule[LogicalPlan] {
  import SemiJoins._

  override def apply(plan: LogicalPlan): LogicalPlan = {
    val model = new CostModel(conf)
    if (!plan.exists(_.isInstanceOf[Join]) || !model.canReduce) plan
    else {
      val reduction = new Reduction(model)
      val changed = plan.transformDown { case join: Join => reduction.reduced(join) }
      if (reduction.savesShuffle) changed else plan
    }
  }

  private class Reduction(model: CostModel) {
    var savesShuffle = false

    def reduced(join: Join): Join = join match {
      case ExtractEquiJoinKeys(Inner, leftKeys, rightKeys, _, _, left, right, JoinHint.NONE) =>
        val keys = comparableKeys(leftKeys, rightKeys)
        reducedBy(right, left, keys).map(side => join.copy(left = side))
          .orElse(reducedBy(left, right, keys.map(_.swap)).map(side => join.copy(right = side)))
          .getOrElse(join)
      case _ => join
    }

    private def reducedBy(small: LogicalPlan, large: LogicalPlan, keys: Keys): Option[LogicalPlan] = {
      lazy val smallBytes = CostModel.scanBytes(small)
      val canReduce = isCheap(small) && isPartial(small) && model.fits(small)
      if (keys.isEmpty || isScan(large) || !canReduce) None
      else new SemiJoinPushdown(isShuffled, (scan, under, isShuffled) => {
        val decision = Policies.reduction(
          "a small table", CostModel.scanBytes(scan), smallBytes, CostModel.MinReducedBytes, model.forcesReduction)
        if (!decision.choice || !BroadcastStrategy.isForEngine(scan)) None
        else {
          savesShuffle ||= model.forcesReduction || (isShuffled && !model.fits(scan))
          Some(semiJoin(scan, under, small, decision))
        }
      }).apply(large, keys, isShuffled = false)
    }

    private def isShuffled(join: Join): Boolean = !join.children.exists(model.fits)

    /** Return whether a second read of `plan` is cheap and returns the same rows. */
    private def isCheap(plan: LogicalPlan): Boolean = !plan.exists {
      case p: Project => !p.deterministic || p.projectList.exists(SubqueryExpression.hasSubquery)
      case f: Filter => !f.deterministic || SubqueryExpression.hasSubquery(f.condition)
      case _: Join | _: LogicalRelation => false
      case _ => true
    } && BroadcastStrategy.isForEngine(plan)

    private def isPartial(plan: LogicalPlan): Boolean = plan.exists {
      case f: Filter => isSelective(f.condition)
      case j: Join => isSelective(j.joinType)
      case _ => false
    }
  }
}
