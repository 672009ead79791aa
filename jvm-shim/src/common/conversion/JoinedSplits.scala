package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.expressions.{Expression, UnscaledValue}
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.physical.{HashPartitioning, SinglePartition, UnknownPartitioning}
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.{FileSourceScanExec, SortExec, SparkPlan, UnionExec}
import org.apache.spark.sql.execution.aggregate.{BaseAggregateExec, SortAggregateExec}
import org.apache.spark.sql.execution.exchange.{BroadcastExchangeExec, ShuffleExchangeExec}
import org.apache.spark.sql.types._

/**
 * Finds scans of which a task may read several of Spark's partitions, because nothing above sees how many there are: up
 * to the next exchange each row is processed by itself, or partial aggregates are the same whatever their rows. The order
 * of the rows stays that of the partitions, but below such aggregates: there a task may read any row groups of a file.
 *
 * Sums of integers and decimals count as the same. In Spark, too, it depends on the number and the order of the map
 * outputs whether one overflows on its way to a total that does not.
 */
object JoinedSplits {

  private val ShortDigits = 7

  /** What no operator above a scan sees: into which partitions its rows are divided, or their order either. */
  private sealed trait Unseen
  private case object Partitions extends Unseen
  private case object PartitionsAndOrder extends Unseen

  private val Allowed: TreeNodeTag[Unseen] = TreeNodeTag[Unseen]("pysparkpipeline.joinedSplits")

  /** Mark these scans of `plan`. */
  def mark(plan: SparkPlan): Unit = markBelow(plan, None)

  def areAllowed(scan: FileSourceScanExec): Boolean = scan.getTagValue(Allowed).isDefined

  /** Return whether the order of the rows of `scan` is not seen either. */
  def inAnyOrder(scan: FileSourceScanExec): Boolean = scan.getTagValue(Allowed).contains(PartitionsAndOrder)

  private def markBelow(plan: SparkPlan, unseen: Option[Unseen]): Unit = {
    plan match {
      case scan: FileSourceScanExec if unseen.isDefined => scan.setTagValue(Allowed, unseen.get)
      case _ => plan.unsetTagValue(Allowed)
    }
    val below = plan match {
      case e: ShuffleExchangeExec => e.outputPartitioning match {
        case _: HashPartitioning | SinglePartition => Some(Partitions)
        case _ => None
      }
      case _: BroadcastExchangeExec => Some(Partitions)
      case a: BaseAggregateExec => if (unseen.isDefined && hasSameParts(a)) Some(PartitionsAndOrder) else None
      case u: UnionExec => unseen.filter(_ => u.outputPartitioning.isInstanceOf[UnknownPartitioning])
      case op => unseen.filter(_ => OperatorRules.of(op).isRowwise(op))
    }
    inputs(plan).foreach(markBelow(_, below))
  }

  /** Return the inputs of an operator, of an aggregation that sorts those of the sort. */
  private def inputs(plan: SparkPlan): Seq[SparkPlan] = plan match {
    case SortAggregateExec(_, _, _, _, _, _, _, _, sort @ SortExec(_, false, _, _)) => sort.children
    case other => other.children
  }

  private def hasSameParts(a: BaseAggregateExec): Boolean =
    a.requiredChildDistributionExpressions.isEmpty && a.aggregateExpressions.forall { e =>
      e.mode == Partial && isSameInParts(e.aggregateFunction)
    }

  /** Return whether a function returns the same whatever parts its rows are aggregated in first. */
  def isSameInParts(function: AggregateFunction): Boolean = function match {
    case _: Count => true
    case s: Sum => isInteger(s.child.dataType)
    case a: Average => a.child.dataType.isInstanceOf[DecimalType] || isShort(a.child)
    case m: Min => ExactTypes.containFlat(m.dataType)
    case m: Max => ExactTypes.containFlat(m.dataType)
    case _ => false
  }

  /** Return whether doubles add the values exactly: unscaled decimals of so few digits, of up to 900 million rows. */
  private def isShort(value: Expression): Boolean = value match {
    case UnscaledValue(decimal) => decimal.dataType match {
      case d: DecimalType => d.precision <= ShortDigits
      case _ => false
    }
    case _ => false
  }

  private def isInteger(t: DataType): Boolean = t.isInstanceOf[IntegralType] || t.isInstanceOf[DecimalType]
}
