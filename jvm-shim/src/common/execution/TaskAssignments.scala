package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.{NarrowDependency, Partition, SparkContext, TaskContext}
import org.apache.spark.rdd.{CoalescedRDDPartition, RDD}
import org.apache.spark.sql.catalyst.InternalRow

/**
 * The data that one fragment instance reads: its part of each scan and the partitions of each streamed input, by number,
 * and for each union, by number, the one child that this instance runs; the instance runs all children of other unions.
 * `partitions` has the index of the partition that each partition-dependent node computes, by number.
 */
case class TaskAssignment(
    scans: Map[Int, ScanPart] = Map.empty,
    inputs: Map[Int, Seq[Int]] = Map.empty,
    branches: Map[Int, Int] = Map.empty,
    partitions: Map[Int, Int] = Map.empty) {
  def and(other: TaskAssignment): TaskAssignment = TaskAssignment(
    scans ++ other.scans, inputs ++ other.inputs, branches ++ other.branches, partitions ++ other.partitions)
}

object TaskAssignments {

  /** Return the assignments of all instances of a fragment with the streamed `inputs`. */
  def of(
      layout: FragmentLayout,
      scans: Seq[Array[ScanPart]],
      inputs: Seq[RDD[InternalRow]],
      sc: SparkContext): Seq[TaskAssignment] = {
    def visit(node: FragmentNode): Option[Seq[TaskAssignment]] = node.kind match {
      case NodeKind.Scan => Some(scans(node.number).toSeq.map(part => TaskAssignment(scans = Map(node.number -> part))))
      case NodeKind.Input =>
        Some((0 until inputs(node.number).getNumPartitions).map(i => TaskAssignment(inputs = Map(node.number -> Seq(i)))))
      case NodeKind.Broadcast => None
      case NodeKind.Operator | NodeKind.Union => byRule(node)
      case NodeKind.PartitionDependent => byRule(node).map(_.zipWithIndex.map { case (assignment, i) =>
        assignment.and(TaskAssignment(partitions = Map(node.number -> i)))
      })
    }
    def byRule(node: FragmentNode): Option[Seq[TaskAssignment]] = {
      val rule = OperatorRules.of(node.plan)
      val made = rule.assignments(node.plan, node.number, node.children.map(visit))
      rule.coalescesTo(node.plan).fold(made) { most =>
        made.map(coalesced(_, most, inputs, sc).map(joined(_, node.subtree)))
      }
    }
    visit(layout.root).getOrElse(Seq(TaskAssignment()))
  }

  /** Return the groups in which Spark's `RDD.coalesce` puts the partitions, at most `most`. */
  private def coalesced(
      each: Seq[TaskAssignment], most: Int, inputs: Seq[RDD[InternalRow]], sc: SparkContext): Seq[Seq[TaskAssignment]] =
    if (each.isEmpty && most == 1) Seq(Nil) // CoalesceExec makes an empty partition
    else new AssignedRDD(sc, each.toArray, inputs).coalesce(most).partitions.toSeq.map {
      case group: CoalescedRDDPartition => group.parentsIndices.toSeq.map(each)
    }

  /** Return the assignment of an instance that reads the data of `group`; `nodes` are those of its part of the fragment. */
  private def joined(group: Seq[TaskAssignment], nodes: Seq[FragmentNode]): TaskAssignment = TaskAssignment(
    scans = nodes.collect { case FragmentNode(scan, NodeKind.Scan, number, _) =>
      number -> OperatorRules.ofSource(scan).joined(group.flatMap(_.scans.get(number)))
    }.toMap,
    inputs = nodes.collect { case FragmentNode(_, NodeKind.Input, number, _) =>
      number -> group.flatMap(_.inputs.getOrElse(number, Nil))
    }.toMap)

  /** Pair the partitions of two inputs by their numbers. */
  def zip(left: Seq[TaskAssignment], right: Seq[TaskAssignment]): Seq[TaskAssignment] = {
    require(left.length == right.length,
      s"the inputs of a fragment have ${left.length} and ${right.length} partitions")
    left.zip(right).map { case (a, b) => a.and(b) }
  }
}

/** The partitions of a fragment with these `assignments` and streamed `inputs`. */
class AssignedRDD(
    sc: SparkContext,
    @transient protected val assignments: Array[TaskAssignment],
    protected var inputs: Seq[RDD[InternalRow]])
  extends RDD[InternalRow](sc, inputs.zipWithIndex.map { case (input, number) =>
    new AssignmentDependency(input, assignments.map(_.inputs.getOrElse(number, Nil)))
  }) {

  override protected def getPartitions: Array[Partition] = assignments.zipWithIndex.map { case (assignment, i) =>
    new FragmentPartition(i, assignment, assignment.inputs.map { case (number, parts) =>
      number -> parts.map(inputs(number).partitions(_))
    })
  }

  override protected def getPreferredLocations(split: Partition): Seq[String] =
    split.asInstanceOf[FragmentPartition].assignment.scans.values.toSeq.flatMap(_.locations).distinct

  override def clearDependencies(): Unit = {
    super.clearDependencies()
    inputs = Nil
  }

  override def compute(split: Partition, context: TaskContext): Iterator[InternalRow] =
    throw new UnsupportedOperationException("assignments alone do not run")
}

class FragmentPartition(
    override val index: Int, val assignment: TaskAssignment, val inputs: Map[Int, Seq[Partition]]) extends Partition

/** `partitions` has the partitions of the input that each instance reads. */
class AssignmentDependency(parent: RDD[InternalRow], partitions: Array[Seq[Int]])
  extends NarrowDependency[InternalRow](parent) {
  override def getParents(partition: Int): Seq[Int] = partitions(partition)
}
