package org.apache.spark.sql.pysparkpipeline

import java.util.Base64

import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.api.python.{PythonEvalType, PythonFunction}
import org.apache.spark.sql.catalyst.expressions.{Expression, PythonUDF}
import org.apache.spark.sql.catalyst.types.DataTypeUtils.toAttributes
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.execution.datasources.v2.python.{PythonInputPartition, PythonScan, UserDefinedPythonDataSource}
import org.apache.spark.sql.execution.metric.SQLMetric

/** Scans of data sources in Python: a function from one row, the pickled partition, to Arrow batches. */
object PythonScanRule extends SourceRule[BatchScanExec] {

  private val ReadName = "read_from_data_source"

  override def limitation(op: BatchScanExec): Option[String] = op.scan match {
    case _: PythonScan if op.runtimeFilters.nonEmpty || op.keyGroupedPartitioning.isDefined || op.ordering.isDefined =>
      Some("a scan of a Python data source with an order or with groups is not supported")
    case _: PythonScan if PipelineShuffleExchangeExec.drivers(op.session.sparkContext.conf) > 1 =>
      Some("scans of Python data sources are not supported with spark.task.cpus above 1: one thread reads a partition")
    case _: PythonScan =>
      call(op).fold[Option[String]](Some("a scan of a Python data source is not supported by this version of Spark"))(
        read => PythonFunctions.arrowLimitation(op, Seq(read)))
    case other => Some(s"a scan by ${other.getClass.getSimpleName} is not supported")
  }

  override def expressions(op: BatchScanExec): Seq[Expression] = Nil

  /** Spark too would send the rows through Python. */
  override def isHeavy(op: BatchScanExec): Boolean = true

  /** The size is unknown before the function has run; Spark too takes a source without statistics for the largest. */
  override def readBytes(op: BatchScanExec, toPython: Boolean): BigInt = Long.MaxValue

  /** A task calls the function for one partition. */
  override def isRowwise(op: BatchScanExec): Boolean = false

  override def joined(parts: Seq[ScanPart]): ScanPart =
    throw new IllegalStateException("partitions of Python data sources are read one by one")

  override def parts(op: BatchScanExec, metrics: Map[String, SQLMetric]): Array[ScanPart] = op.inputPartitions.map {
    case PythonInputPartition(index, pickled) =>
      ScanPart(Json.obj().put("index", index).put("partition", Base64.getEncoder.encodeToString(pickled)).toString, Nil)
    case other => throw new IllegalStateException(s"a Python data source gave ${other.getClass.getName}")
  }.toArray

  override def pythonFunctions(op: BatchScanExec): Seq[PythonFunction] = PythonFunctions.of(call(op).toSeq)

  override def describe(op: BatchScanExec, node: ObjectNode, plan: PlanJson): Unit =
    PythonFunctions.describe(call(op).toSeq, PythonEvalType.SQL_MAP_ARROW_ITER_UDF, op.conf.arrowMaxRecordsPerBatch, node, plan)

  override def label(op: BatchScanExec): String = s"[${op.table.name}]"

  /** Return the function that reads a partition, as Spark's reader builds it; None if Spark keeps it elsewhere. */
  private def call(op: BatchScanExec): Option[PythonUDF] = {
    val fields = op.readerFactory.getClass.getFields
    def field(name: String): Option[AnyRef] = fields.find(_.getName.endsWith("$$" + name)).map(_.get(op.readerFactory))
    for {
      source <- field("source").collect { case source: UserDefinedPythonDataSource => source }
      pickled <- field("pickledReadFunc").collect { case bytes: Array[Byte] => bytes }
    } yield PythonUDF(ReadName, source.createPythonFunction(pickled), op.scan.readSchema,
      toAttributes(UserDefinedPythonDataSource.readInputSchema), PythonEvalType.SQL_MAP_ARROW_ITER_UDF, udfDeterministic = false)
  }
}
