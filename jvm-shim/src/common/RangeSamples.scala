package org.apache.spark.sql.pysparkpipeline

import java.util.Base64

import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}

import org.apache.spark.sql.catalyst.plans.physical.RangePartitioning

/**
 * What a range exchange needs to know before it sends: samples of the sort keys of all rows. As in Spark, a job of its
 * own takes them, which makes the rows a first time. The sinks find the bounds between the partitions from them.
 */
object RangeSamples {
  /** Describe the sink of an exchange by `range` of what `fragment` gives; runs the job. */
  def put(node: ObjectNode, fragment: PipelineFragmentExec, range: RangePartitioning): ObjectNode = {
    val keys = Json.arr(range.ordering.map(new ExpressionJson(withContexts = false).write))
    val samples = Json.arr(take(fragment, keys.deepCopy(), wanted(fragment, range)).toSeq.map { case (rows, message) =>
      Json.obj().put("rows", rows).put("message", Base64.getEncoder.encodeToString(message))
    })
    node.put("kind", "range").set[ObjectNode]("keys", keys)
    node.set[ObjectNode]("samples", samples)
  }

  private def wanted(fragment: PipelineFragmentExec, range: RangePartitioning): Long =
    fragment.conf.rangeExchangeSampleSizePerPartition.toLong * range.numPartitions

  private def take(fragment: PipelineFragmentExec, keys: ArrayNode, rows: Long): Array[(Long, Array[Byte])] = {
    val sink = Json.obj().put("kind", "rangeSample").put("rows", rows)
    sink.set[ObjectNode]("keys", keys)
    fragment.chunks(sink).map(row => (row.getLong(ChunkRow.Rows), row.getBinary(ChunkRow.Data))).collect()
  }
}
