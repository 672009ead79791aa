package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.plans.QueryPlan
import org.apache.spark.sql.catalyst.plans.logical.Join
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.joins.{BaseJoinExec, BroadcastHashJoinExec}
import org.apache.spark.util.Utils

/** A number that a decision compares: bytes, or a count. */
case class Figure(name: String, value: BigInt, isBytes: Boolean = true) {
  override def toString: String = s"$name ${if (isBytes) Utils.bytesToString(value) else value}"
}

/** The choice of a policy, false or a value, with the figures that it compared. Explain shows it as one line. */
case class Decision[+A](choice: A, what: String, figures: Seq[Figure], why: String = "") {
  override lazy val toString: String = {
    val details = Seq(figures.mkString(", "), why).filter(_.nonEmpty).mkString("; ")
    s"${if (choice == false) "no " else ""}$what: $details"
  }
}

/** Attaches decisions to the nodes that they concern. */
object Decisions {
  private val Tag = TreeNodeTag[Seq[Decision[_]]]("pysparkpipeline.decisions")

  private val OrderTag = TreeNodeTag[Decision[_]]("pysparkpipeline.order")

  def of(plan: QueryPlan[_]): Seq[Decision[_]] = plan.getTagValue(Tag).getOrElse(Nil)

  def add(plan: QueryPlan[_], decision: Decision[_]): Unit = plan.setTagValue(Tag, of(plan) :+ decision)

  /** Set the only decision about a logical join, which is planned again when a stage has run. */
  def set(join: Join, decision: Option[Decision[_]]): Unit =
    decision.fold(join.unsetTagValue(Tag))(one => join.setTagValue(Tag, Seq(one)))

  /** Set the decision to join the right side of a logical join after the other tables. */
  def setOrder(join: Join, decision: Decision[_]): Unit = join.setTagValue(OrderTag, decision)

  def clear(plan: SparkPlan): Unit = plan.unsetTagValue(Tag)

  /** Add the decision about the logical join to its converted operator. Spark may broadcast a side of its own accord. */
  def addLogical(plan: SparkPlan): Unit = plan match {
    case PipelineOperatorExec(join: BaseJoinExec) =>
      plan.logicalLink.collect { case logical: Join => logical.getTagValue(OrderTag).toSeq ++ of(logical) }.toSeq.flatten
        .filter(_.choice != false || !join.isInstanceOf[BroadcastHashJoinExec])
        .foreach(add(plan, _))
    case _ =>
  }
}
