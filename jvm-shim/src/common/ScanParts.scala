package org.apache.spark.sql.pysparkpipeline

import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.hadoop.conf.Configuration

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.{FileSourceScanExec, SQLExecution}
import org.apache.spark.sql.execution.datasources.{FileScanRDD, PartitionedFile}
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types.{DataType, StructType}

/** One task's share of a scan: its splits as JSON, and where Spark would like to read them. */
case class ScanPart(splits: String, locations: Seq[String])

/** Which splits of which files each task of a scan reads: Spark's own choice, and a task of several cores that of several. */
object ScanParts {

  /** The tasks' shares of `scan`; what the file listing tells goes to the `metrics` of the same names. */
  def of(scan: FileSourceScanExec, metrics: Map[String, SQLMetric]): Array[ScanPart] = {
    val types = scan.relation.partitionSchema.map(_.dataType)
    val listed = unread(scan)
    listed.inputRDD match {
      case files: FileScanRDD =>
        publish(scan, listed.metrics, metrics)
        files.filePartitions.grouped(partitionsOfTask(scan, files.filePartitions.length)).map { parts =>
          val splits = Json.arr(parts.flatMap(_.files.toSeq).map(split(_, types)))
          ScanPart(splits.toString, parts.flatMap(_.preferredLocations()).distinct)
        }.toArray
      case other => throw new IllegalStateException(s"a Parquet scan gave ${other.getClass.getName}")
    }
  }

  /** As many as a task has cores, while there are tasks enough to use all cores; one where partitions mean buckets. */
  private def partitionsOfTask(scan: FileSourceScanExec, partitions: Int): Int = {
    val sc = scan.session.sparkContext
    val cores = PipelineShuffleExchangeExec.drivers(sc.conf)
    val atOnce = math.max(1, sc.defaultParallelism / cores)
    if (scan.bucketedScan) 1 else math.max(1, math.min(cores, partitions / atOnce))
  }

  private def split(file: PartitionedFile, types: Seq[DataType]): ObjectNode = {
    val node = Json.obj().put("path", file.toPath.toUri.getPath).put("start", file.start).put("length", file.length)
    node.set[ObjectNode]("partitionValues", Json.row(file.partitionValues, types))
  }

  /** `scan` without a reader: to make one, Spark broadcasts Hadoop's configuration, which costs milliseconds a scan. */
  private def unread(scan: FileSourceScanExec): FileSourceScanExec =
    scan.copy(relation = scan.relation.copy(fileFormat = SplitsOnly)(scan.relation.sparkSession))

  private def publish(scan: FileSourceScanExec, from: Map[String, SQLMetric], to: Map[String, SQLMetric]): Unit = {
    val known = from.toSeq.flatMap { case (name, metric) => to.get(name).map(_ -> metric.value) }
    known.foreach { case (metric, value) => metric += value }
    val sc = scan.session.sparkContext
    SQLMetrics.postDriverMetricUpdates(sc, sc.getLocalProperty(SQLExecution.EXECUTION_ID_KEY), known.map(_._1))
  }

  private object SplitsOnly extends ParquetFileFormat {
    override def buildReaderWithPartitionValues(
        session: SparkSession, data: StructType, partition: StructType, required: StructType, filters: Seq[Filter],
        options: Map[String, String], hadoop: Configuration): PartitionedFile => Iterator[InternalRow] = SplitsOnly.read

    private val read: PartitionedFile => Iterator[InternalRow] = _ =>
      throw new UnsupportedOperationException("the worker reads the files")
  }
}
