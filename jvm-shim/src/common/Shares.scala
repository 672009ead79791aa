package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.NarrowDependency
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.plans.physical.UnknownPartitioning
import org.apache.spark.sql.execution.{FileSourceScanExec, RangeExec, SparkPlan, UnionExec}
import org.apache.spark.sql.execution.joins.CartesianProductExec

/**
 * What one fragment instance reads: its part of each scan and the partition of each input, by number, and for
 * each union (by number, in plan order) the one child that this instance runs; a union without one runs all.
 */
case class Share(
    scans: Map[Int, ScanPart] = Map.empty, inputs: Map[Int, Int] = Map.empty, branches: Map[Int, Int] = Map.empty) {
  def and(other: Share): Share = Share(scans ++ other.scans, inputs ++ other.inputs, branches ++ other.branches)
}

object Shares {

  /** The shares of all instances of the fragment `root`; `partitions` counts those of every streamed input. */
  def of(root: SparkPlan, scans: Seq[Array[ScanPart]], partitions: Seq[Int]): Seq[Share] = {
    var scan, input, union = -1

    def go(node: SparkPlan): Option[Seq[Share]] = node match {
      case PipelineOperatorExec(_: FileSourceScanExec | _: RangeExec) =>
        scan += 1
        val number = scan
        Some(scans(number).toSeq.map(part => Share(scans = Map(number -> part))))
      case PipelineOperatorExec(u: UnionExec) if keepsPartitions(u) =>
        union += 1
        u.children.flatMap(go).filter(_.nonEmpty).reduceOption(zip)
      case PipelineOperatorExec(u: UnionExec) =>
        union += 1
        val number = union
        Some(u.children.zipWithIndex.flatMap { case (child, i) =>
          go(child).getOrElse(Seq(Share())).map(_.and(Share(branches = Map(number -> i))))
        })
      case PipelineOperatorExec(c: CartesianProductExec) => c.children.flatMap(go).reduceOption(product)
      case op: PipelineOperatorExec => op.children.flatMap(go).reduceOption(zip)
      case broadcast if BroadcastChunks.isBroadcast(broadcast) => None
      case _ =>
        input += 1
        val number = input
        Some((0 until partitions(number)).map(i => Share(inputs = Map(number -> i))))
    }

    go(root).getOrElse(Seq(Share()))
  }

  /** Whether a partition of the union is the partitions of that number of all its inputs, which are dealt out alike. */
  private def keepsPartitions(union: UnionExec): Boolean =
    !union.outputPartitioning.isInstanceOf[UnknownPartitioning]

  /** Every part of one side with every part of the other. */
  private def product(left: Seq[Share], right: Seq[Share]): Seq[Share] = left.flatMap(a => right.map(a.and))

  private def zip(left: Seq[Share], right: Seq[Share]): Seq[Share] = {
    require(left.length == right.length,
      s"the inputs of a fragment have ${left.length} and ${right.length} partitions")
    left.zip(right).map { case (a, b) => a.and(b) }
  }
}

/** An instance reads at most one partition of input `number`. */
class ShareDependency(parent: RDD[InternalRow], number: Int, shares: Array[Option[Int]])
  extends NarrowDependency[InternalRow](parent) {
  override def getParents(partition: Int): Seq[Int] = shares(partition).toSeq
}
