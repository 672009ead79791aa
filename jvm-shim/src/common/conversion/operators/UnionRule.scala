package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.plans.physical.UnknownPartitioning
import org.apache.spark.sql.execution.UnionExec

/** Unions. The partitions of a union are those of all its inputs, so that an instance runs one of the inputs. */
object UnionRule extends OperatorRule[UnionExec] {

  override def kind(op: UnionExec): NodeKind = NodeKind.Union

  /** Code that Spark 4.3 generates for a union numbers the partitions of each input from 0 for some operators above. */
  override def movesRows(op: UnionExec): Boolean = true

  override def assignments(
      op: UnionExec, number: Int, inputs: Seq[Option[Seq[TaskAssignment]]]): Option[Seq[TaskAssignment]] =
    if (keepsPartitions(op)) inputs.flatten.filter(_.nonEmpty).reduceOption(TaskAssignments.zip)
    else Some(inputs.zipWithIndex.flatMap { case (input, i) =>
      input.getOrElse(Seq(TaskAssignment())).map(_.and(TaskAssignment(branches = Map(number -> i))))
    })

  /** Return whether a partition of the union has the partitions of that number of all inputs, partitioned alike. */
  private def keepsPartitions(op: UnionExec): Boolean = !op.outputPartitioning.isInstanceOf[UnknownPartitioning]
}
