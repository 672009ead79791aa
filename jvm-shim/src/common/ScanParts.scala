package org.apache.spark.sql.pysparkpipeline

import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.hadoop.conf.Configuration

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.{FileSourceScanExec, SQLExecution}
import org.apache.spark.sql.execution.datasources.{FilePartition, FileScanRDD, PartitionedFile}
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types.{DataType, StructType}

/** One task's share of a scan: its splits as JSON, and where Spark would like to read them. */
case class ScanPart(splits: String, locations: Seq[String])

/** Which splits of which files each task of a scan reads: Spark's own choice, for tasks of several cores joined. */
object ScanParts {

  private val Turns = 3

  /** The tasks' shares of `scan`; what the file listing tells goes to the `metrics` of the same names. */
  def of(scan: FileSourceScanExec, metrics: Map[String, SQLMetric]): Array[ScanPart] = {
    val types = scan.relation.partitionSchema.map(_.dataType)
    val listed = unread(scan)
    listed.inputRDD match {
      case files: FileScanRDD =>
        publish(scan, listed.metrics, metrics)
        together(scan, files.filePartitions).map { parts =>
          val splits = Json.arr(parts.flatMap(_.files.toSeq).map(split(_, types)))
          ScanPart(splits.toString, parts.flatMap(_.preferredLocations()).distinct)
        }.toArray
      case other => throw new IllegalStateException(s"a Parquet scan gave ${other.getClass.getName}")
    }
  }

  /**
   * The partitions of each task. A task of several cores takes as many while there are tasks enough to use all cores,
   * and more where few of the columns are read, while each core has its turn `Turns` times. Buckets stay alone.
   */
  private def together(scan: FileSourceScanExec, partitions: Seq[FilePartition]): Iterator[Seq[FilePartition]] = {
    val sc = scan.session.sparkContext
    val cores = PipelineShuffleExchangeExec.drivers(sc.conf)
    if (cores == 1 || scan.bucketedScan || partitions.isEmpty) {
      partitions.iterator.map(Seq(_))
    } else {
      val atOnce = math.max(1, sc.defaultParallelism / cores)
      val columns = scan.relation.dataSchema.defaultSize / math.max(1, scan.requiredSchema.defaultSize)
      val many = math.min(cores.toLong * columns, partitions.length / (atOnce * Turns)).toInt
      val each = math.max(1, math.max(many, math.min(cores, partitions.length / atOnce)))
      val tasks = (partitions.length + each - 1) / each
      partitions.grouped((partitions.length + tasks - 1) / tasks)
    }
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
