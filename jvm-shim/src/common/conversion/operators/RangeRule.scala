package org.apache.spark.sql.pysparkpipeline

import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.sql.execution.RangeExec
import org.apache.spark.sql.execution.metric.SQLMetric

object RangeRule extends SourceRule[RangeExec] {

  /** Spark computes a range faster than the engine, but for functions in Python it converts the numbers to Arrow. */
  override def readBytes(op: RangeExec, toPython: Boolean): BigInt =
    if (toPython) op.numElements * op.output.map(_.dataType.defaultSize).sum else 0

  /** Return the slices (first number, count, step), which equal Spark's. */
  override def parts(op: RangeExec, metrics: Map[String, SQLMetric]): Array[ScanPart] = {
    val slices = if (op.isEmptyRange) 0 else op.numSlices
    def element(i: Int): BigInt = i * op.numElements / slices
    Array.tabulate(slices) { i =>
      val first = element(i) * op.step + op.start
      slice(first, element(i + 1) - element(i), op.step)
    }
  }

  /** Return a slice of adjacent ones: `RDD.coalesce` groups neighbours if no partition has a preferred location. */
  override def joined(parts: Seq[ScanPart]): ScanPart = {
    val slices = parts.map(part => Manifest.elements(Manifest.mapper.readTree(part.splits)).map(_.bigIntegerValue))
    slices.headOption.fold(slice(0, 0, 1)) { first =>
      slice(BigInt(first.head), slices.map(s => BigInt(s(1))).sum, first(2).longValue)
    }
  }

  private def slice(first: BigInt, count: BigInt, step: Long): ScanPart = ScanPart(s"[$first,$count,$step]", Nil)

  /** Adds nothing: the slices contain the properties. */
  override def describe(op: RangeExec, node: ObjectNode, plan: PlanJson): Unit = ()
}
