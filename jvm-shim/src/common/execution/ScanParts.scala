package org.apache.spark.sql.pysparkpipeline

import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.hadoop.mapreduce.Job

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.JoinedRow
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.execution.datasources._
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types.{DataType, StructType}

/** One task's part of a scan: its splits as JSON, and the locations where Spark prefers to read them. */
case class ScanPart(splits: String, locations: Seq[String])

/** Assigns file splits to the tasks of a scan: Spark's partitions, grouped for tasks of several cores. */
object ScanParts {

  private val Turns = 3

  /** The bytes of the shortest tasks, for each time that all columns are wider than those read, up to so many times. */
  private val LeastBytes = 32L << 20
  private val MostTimes = 3

  /** Return the tasks' parts of `scan`; add the counters of the file listing to the `metrics` of the same names. */
  def of(scan: FileSourceScanExec, metrics: Map[String, SQLMetric]): Array[ScanPart] = {
    val types = scan.relation.partitionSchema.map(_.dataType) ++ FileColumns.of(scan).map(_.dataType)
    val listed = withoutReader(scan)
    listed.inputRDD match {
      case rdd: FileScanRDD =>
        add(listed.metrics, metrics)
        val isSpread = canCut(scan) && JoinedSplits.inAnyOrder(scan)
        grouped(scan, rdd.filePartitions).map { files =>
          val splits = Json.arr(files.map(split(scan, _, types, isSpread)))
          ScanPart(splits.toString, FilePartition(0, files.toArray).preferredLocations().toSeq)
        }.toArray
      case other => throw new IllegalStateException(s"a scan of files gave ${other.getClass.getName}")
    }
  }

  /**
   * Group the partitions by task: between two tasks a core waits as long as the engine needs for millions of values. Where
   * nothing above sees how many tasks there are, a task reads two partitions for each of its cores, or more if the scan
   * reads few of the columns, and the last tasks are shorter than the first, so that all cores end at about the same time.
   * Else only a task of several cores reads as many partitions, or more while each core still runs `Turns` tasks. Buckets
   * are not grouped, nor are partitions on which an operator above depends.
   */
  private def grouped(scan: FileSourceScanExec, partitions: Seq[FilePartition]): Iterator[Seq[PartitionedFile]] = {
    val sc = scan.session.sparkContext
    val cores = PipelineShuffleExchangeExec.drivers(sc.conf)
    val atOnce = math.max(1, sc.defaultParallelism / cores)
    val areJoined = JoinedSplits.areAllowed(scan)
    if (!areJoined && cores == 1 || scan.bucketedScan || Placement.keepsPartitions(scan) || partitions.length <= atOnce) {
      partitions.iterator.map(_.files.toSeq)
    } else {
      val columns = math.max(2, scan.relation.dataSchema.defaultSize / math.max(1, scan.requiredSchema.defaultSize))
      val most = math.min(cores.toLong * columns, partitions.length).toInt
      if (areJoined) {
        val opening = scan.session.sessionState.conf.filesOpenCostInBytes
        val least = LeastBytes * math.min(columns, MostTimes)
        new TaskSplits(partitions, opening, most, least, atOnce, canCut(scan)).tasks.iterator
      } else {
        val many = math.max(math.min(most, partitions.length / (atOnce * Turns)), math.min(cores, partitions.length / atOnce))
        alike(partitions, math.max(1, many), atOnce).map(_.flatMap(_.files.toSeq))
      }
    }
  }

  /** Return whether a task may read any part of a file. */
  private def canCut(scan: FileSourceScanExec): Boolean =
    !FileColumns.tellPlace(scan) && scan.relation.fileFormat.isInstanceOf[ParquetFileFormat]

  /** Group `partitions` by tasks of about the same number of them, at most `most`; the tasks are a multiple of `atOnce`. */
  private def alike(partitions: Seq[FilePartition], most: Int, atOnce: Int): Iterator[Seq[FilePartition]] = {
    val turns = (partitions.length + most * atOnce - 1) / (most * atOnce)
    val tasks = math.min(partitions.length, turns * atOnce)
    val starts = (0 to tasks).map(task => (partitions.length.toLong * task / tasks).toInt)
    starts.iterator.zip(starts.iterator.drop(1)).map { case (start, stop) => partitions.slice(start, stop) }
  }

  /** `isSpread`: rows that are neighbours in the file, often of the same days, are divided among all of its splits. */
  private def split(scan: FileSourceScanExec, file: PartitionedFile, types: Seq[DataType], isSpread: Boolean): ObjectNode = {
    val uri = file.toPath.toUri
    val path = if (ScanSupport.isLocal(uri.getScheme)) uri.getPath else uri.toString
    val node = Json.obj().put("path", path).put("start", file.start).put("length", file.length)
    if (isSpread) node.put("spreadBytes", file.fileSize)
    node.set[ObjectNode]("partitionValues", Json.row(new JoinedRow(file.partitionValues, FileColumns.values(scan, file)), types))
  }

  /** Return `scan` without a reader: to create one, Spark broadcasts Hadoop's configuration, which takes milliseconds. */
  private def withoutReader(scan: FileSourceScanExec): FileSourceScanExec =
    scan.copy(relation = scan.relation.copy(fileFormat = new SplitsOnly(scan.relation.fileFormat))(scan.relation.sparkSession))

  private def add(from: Map[String, SQLMetric], to: Map[String, SQLMetric]): Unit =
    from.foreach { case (name, metric) => to.get(name).foreach(_ += metric.value) }

  private val readNothing: PartitionedFile => Iterator[InternalRow] = _ =>
    throw new UnsupportedOperationException("the worker reads the files")

  /** Cuts files as `format` does, and reads none. */
  private class SplitsOnly(format: FileFormat) extends FileFormat {
    override def isSplitable(session: SparkSession, options: Map[String, String], path: Path): Boolean =
      format.isSplitable(session, options, path)

    override def supportBatch(session: SparkSession, schema: StructType): Boolean = format.supportBatch(session, schema)

    override def inferSchema(
        session: SparkSession, options: Map[String, String], files: Seq[FileStatus]): Option[StructType] = None

    override def prepareWrite(
        session: SparkSession, job: Job, options: Map[String, String], data: StructType): OutputWriterFactory =
      throw new UnsupportedOperationException("the format is for reads")

    override def buildReaderWithPartitionValues(
        session: SparkSession, data: StructType, partition: StructType, required: StructType, filters: Seq[Filter],
        options: Map[String, String], hadoop: Configuration): PartitionedFile => Iterator[InternalRow] = readNothing
  }
}
