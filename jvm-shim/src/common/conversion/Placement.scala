package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.QueryPlan
import org.apache.spark.sql.catalyst.plans.logical.Sample
import org.apache.spark.sql.catalyst.plans.physical.{HashPartitioning, SinglePartition}
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.{SampleExec, SparkPlan, UnionExec}
import org.apache.spark.sql.execution.exchange.{Exchange, ShuffleExchangeExec}

/**
 * Finds expressions that depend on the placement of a row: its partition, and the rows before it in the partition. A
 * user who sets a seed expects the same sample, and the same `rand(seed)` in each row, with and without the engine. So
 * below such an expression an operator stays in Spark if the engine would place its rows differently.
 */
object Placement {

  /** On an operator below such an expression: the name of the expression. */
  private val ReadBy: TreeNodeTag[String] = TreeNodeTag[String]("pysparkpipeline.placementReadBy")

  /** On an operator whose partitions an operator above coalesces. */
  private val Coalesced: TreeNodeTag[Boolean] = TreeNodeTag[Boolean]("pysparkpipeline.coalesced")

  /** Mark all operators of `plan` below an expression that depends on placement, and those whose partitions are coalesced. */
  def mark(plan: SparkPlan): Unit = markBelow(plan, None, isCoalesced = false)

  private def markBelow(plan: SparkPlan, reader: Option[String], isCoalesced: Boolean): Unit = {
    reader.fold(plan.unsetTagValue(ReadBy))(plan.setTagValue(ReadBy, _))
    if (isCoalesced) plan.setTagValue(Coalesced, true) else plan.unsetTagValue(Coalesced)
    val below = reader.orElse(readerIn(plan))
    val coalesces = !plan.isInstanceOf[Exchange] && (isCoalesced || OperatorRules.of(plan).coalescesTo(plan).isDefined)
    plan.children.foreach(markBelow(_, below, coalesces))
  }

  /** Mark `lower`, which conversion puts below `upper`, if that depends on the placement of its input's rows. */
  def markSplit(upper: SparkPlan, lower: SparkPlan): Unit = readerIn(upper).foreach(lower.setTagValue(ReadBy, _))

  /** Return whether an expression above `plan` depends on the placement of its rows. */
  def isRead(plan: SparkPlan): Boolean = plan.getTagValue(ReadBy).isDefined

  /** Return whether the number and the content of the partitions of `plan` must be those of Spark. */
  def keepsPartitions(plan: SparkPlan): Boolean = isRead(plan) || plan.getTagValue(Coalesced).isDefined

  /** Return the reason why an operator must stay in Spark; None if the engine places its rows as Spark does. */
  def reason(plan: SparkPlan, isAdaptive: Boolean): Option[String] =
    plan.getTagValue(ReadBy).filter(_ => movesRows(plan, isAdaptive)).map { reader =>
      s"$reader above depends on the placement of the rows"
    }

  private def movesRows(plan: SparkPlan, isAdaptive: Boolean): Boolean = plan match {
    case e: ShuffleExchangeExec => e.outputPartitioning match {
      case SinglePartition => false
      // AQE coalesces by bytes, and those of chunks differ; senders to tasks of several cores group rows by driver
      case _: HashPartitioning =>
        isAdaptive && plan.conf.coalesceShufflePartitionsEnabled ||
          PipelineShuffleExchangeExec.drivers(plan.session.sparkContext.conf) > 1
      case _ => true
    }
    case op => OperatorRules.of(op).movesRows(op)
  }

  /** Return the name of an expression in `plan` that depends on the placement of the input's rows. */
  def readerIn(plan: QueryPlan[_]): Option[String] = plan match {
    case _: SampleExec | _: Sample => Some("Sample")
    case _ => plan.expressions.iterator.flatMap(_.find(isReader)).map(ExpressionJson.name).nextOption()
  }

  /** Return whether the rows of `plan` come from a union in the same stage: its partitions may have two numbers in Spark. */
  def readsUnion(plan: SparkPlan): Boolean = plan match {
    case _: UnionExec => true
    case _: Exchange => false
    case other => other.children.exists(readsUnion)
  }

  private def isReader(e: Expression): Boolean = e match {
    case r: Rand => !r.hideSeed // without the user's seed any number is correct
    case r: Randn => !r.hideSeed
    case _: Uuid => false
    case _: MonotonicallyIncreasingID | _: SparkPartitionID => true
    case _: ExpressionWithRandomSeed => true
    case _ => false
  }
}
