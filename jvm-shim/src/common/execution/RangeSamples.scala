package org.apache.spark.sql.pysparkpipeline

import java.util.Base64

import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.plans.physical.RangePartitioning

/**
 * Samples the sort keys of all rows before a range exchange sends them. As in Spark, a separate job collects the
 * samples, which computes the rows a first time. The sinks compute the bounds of the partitions from the samples.
 */
object RangeSamples {
  private val Kind = "rangeSample"

  /** Return whether the sink collects samples, so that the instance sends no rows of the query. */
  def isSample(sink: ObjectNode): Boolean = sink.path("kind").asText == Kind

  /** Write the sink of an exchange by `range` of the rows of `fragment`; runs the job. */
  def writeSink(node: ObjectNode, fragment: PipelineFragmentExec, range: RangePartitioning): ObjectNode = {
    val keys = Json.arr(range.ordering.map(new ExpressionJson(withContexts = false).write))
    val samples = Json.arr(sample(fragment, keys.deepCopy(), sampleRows(fragment, range)).toSeq.map { case (rows, message) =>
      Json.obj().put("rows", rows).put("message", Base64.getEncoder.encodeToString(message))
    })
    node.put("kind", "range").set[ObjectNode]("keys", keys)
    node.set[ObjectNode]("samples", samples)
  }

  private def sampleRows(fragment: PipelineFragmentExec, range: RangePartitioning): Long =
    fragment.conf.rangeExchangeSampleSizePerPartition.toLong * range.numPartitions

  private def sample(fragment: PipelineFragmentExec, keys: ArrayNode, rows: Long): Array[(Long, Array[Byte])] = {
    val sink = Json.obj().put("kind", Kind).put("rows", rows)
    sink.set[ObjectNode]("keys", keys)
    PartitionFunction.run(fragment.chunks(sink), Read).flatten
  }

  private object Read extends PartitionFunction[InternalRow, Array[(Long, Array[Byte])]] {
    override def apply(context: TaskContext, rows: Iterator[InternalRow]): Array[(Long, Array[Byte])] =
      rows.map(row => (row.getLong(ChunkRow.Rows), row.getBinary(ChunkRow.Data))).toArray
  }
}
