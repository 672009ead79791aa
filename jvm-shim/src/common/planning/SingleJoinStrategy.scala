package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.optimizer.{BuildRight, JoinSelectionHelper}
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans.LeftSingle
import org.apache.spark.sql.catalyst.plans.logical.{JoinHint, LogicalPlan}
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.joins.ShuffledHashJoinExec
import org.apache.spark.sql.internal.SQLConf

/**
 * Plans a shuffled hash join for a scalar subquery that must return one row for equal keys, if its rows are too many to
 * broadcast. Spark has no sort-merge join of this kind: it would broadcast all rows and compare every pair.
 */
object SingleJoinStrategy extends SparkStrategy with JoinSelectionHelper {

  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case join @ ExtractEquiJoinKeys(LeftSingle, leftKeys, rightKeys, condition, _, left, right, JoinHint.NONE)
        if BroadcastStrategy.isForEngine(left) && BroadcastStrategy.isForEngine(right) &&
          !canBroadcastBySize(right, SQLConf.get) && !PlacementSensitiveJoins.isSensitive(join) &&
          hashJoinSupported(leftKeys, rightKeys) =>
      Seq(ShuffledHashJoinExec(leftKeys, rightKeys, LeftSingle, BuildRight, condition, planLater(left), planLater(right)))
    case _ => Nil
  }
}
