package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.expressions.SubqueryExpression
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans.Inner
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.LogicalRelation

/**
 * Drops rows of a large table right above its scan where a join above, with a small table of which a filter leaves part,
 * would drop them only after they were shuffled (optimizer, before join planning). A small table so reduced may in
 * turn reduce another. The plan stays as it is where nothing that is shuffled gets smaller.
 */
object EarlyReduction extends Rule[LogicalPlan] {
  import SemiJoins._

  /** Smaller tables are not worth a broadcast. */
  private val LeastScanBytes = BigInt(1L << 18)

  override def apply(plan: LogicalPlan): LogicalPlan = {
    if (!plan.exists(_.isInstanceOf[Join]) || !isOn(conf)) plan
    else {
      val reduction = new Reduction(BroadcastStrategy.mostBytes(conf))
      val changed = plan.transformDown { case join: Join => reduction.reduced(join) }
      if (reduction.savesShuffle) changed else plan
    }
  }

  private class Reduction(most: Long) {
    var savesShuffle = false

    def reduced(join: Join): Join = join match {
      case ExtractEquiJoinKeys(Inner, leftKeys, rightKeys, _, _, left, right, JoinHint.NONE) =>
        val keys = plain(leftKeys, rightKeys)
        reducedBy(right, left, keys).map(side => join.copy(left = side))
          .orElse(reducedBy(left, right, keys.map(_.swap)).map(side => join.copy(right = side)))
          .getOrElse(join)
      case _ => join
    }

    private def reducedBy(small: LogicalPlan, large: LogicalPlan, keys: Keys): Option[LogicalPlan] = {
      lazy val smallBytes = ScanBytes.of(small)
      val canReduce = isCheap(small) && isPartial(small) && BroadcastStrategy.isSmall(small, most)
      if (keys.isEmpty || isScan(large) || !canReduce) None
      else new Pushdown(isShuffled, (scan, under, isShuffled) => {
        val bytes = ScanBytes.of(scan)
        val pays = isForced(conf) || (bytes >= LeastScanBytes && isWorth(bytes, smallBytes))
        if (!pays || !BroadcastStrategy.isForEngine(scan)) None
        else {
          savesShuffle ||= isForced(conf) || (isShuffled && !BroadcastStrategy.isSmall(scan, most))
          Some(semiJoin(scan, under, small))
        }
      }).apply(large, keys, isShuffled = false)
    }

    private def isShuffled(join: Join): Boolean = !join.children.exists(BroadcastStrategy.isSmall(_, most))

    /** Whether `plan` can be read twice for little, with the same rows. */
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
