package org.apache.spark.sql.pysparkpipeline

import org.apache.hadoop.mapreduce.TaskAttemptContext

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeReference}
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.execution.datasources._
import org.apache.spark.sql.types.{LongType, StringType, StructType}
import org.apache.spark.unsafe.types.UTF8String

/**
 * A write of `description` in which each row stands for a file that a worker has written: partition values, the file's
 * name in the staging folder, and its number of rows.
 */
class StagedWrite(val description: WriteJobDescription, file: Seq[Attribute]) extends Serializable {

  /** The schema of the rows. */
  val fileSchema: StructType = DataTypeUtils.fromAttributes(description.partitionColumns ++ file)

  /** Return a row for no file. */
  def refusedRow: InternalRow =
    InternalRow.fromSeq(description.partitionColumns.map(_ => null) ++ Seq(UTF8String.EMPTY_UTF8, 0L))

  /** Return the description of the write for Spark's task: each row goes to a file of its own. */
  def inTask(task: StagingCommitter): WriteJobDescription = new WriteJobDescription(
    uuid = description.uuid,
    serializableHadoopConf = description.serializableHadoopConf,
    outputWriterFactory = new StagedFiles(description, task),
    allColumns = description.partitionColumns ++ file,
    dataColumns = file,
    partitionColumns = description.partitionColumns,
    bucketSpec = None,
    path = description.path,
    customPartitionLocations = description.customPartitionLocations,
    maxRecordsPerFile = 1,
    timeZoneId = description.timeZoneId,
    statsTrackers = description.statsTrackers.map(new StagedRows(_)))
}

object StagedWrite {
  /** The positions of a file's name and of its number of rows after the partition values. */
  val (name, rows) = (0, 1)

  def of(description: WriteJobDescription): StagedWrite = new StagedWrite(description, Seq(
    AttributeReference("file", StringType, nullable = false)(), AttributeReference("rows", LongType, nullable = false)()))
}

/** "Writes" a row by moving the file that it names. A file without a row is empty, and Spark's own writer writes it. */
private class StagedFiles(description: WriteJobDescription, task: StagingCommitter) extends OutputWriterFactory {

  override def getFileExtension(context: TaskAttemptContext): String =
    description.outputWriterFactory.getFileExtension(context)

  override def newInstance(to: String, rowSchema: StructType, context: TaskAttemptContext): OutputWriter =
    new OutputWriter {
      private var isMoved = false

      override val path: String = to

      override def write(row: InternalRow): Unit = {
        task.refusal.foreach(throw _)
        task.staging.move(row.getString(StagedWrite.name), path)
        isMoved = true
      }

      override def close(): Unit = if (!isMoved) {
        val schema = DataTypeUtils.fromAttributes(description.dataColumns)
        description.outputWriterFactory.newInstance(path, schema, context).close()
      }
    }
}

/** Counts the rows of the files that rows stand for. */
private class StagedRows(job: WriteJobStatsTracker) extends WriteJobStatsTracker {

  override def newTaskInstance(): WriteTaskStatsTracker = {
    val task = job.newTaskInstance()
    new WriteTaskStatsTracker {
      override def newPartition(values: InternalRow): Unit = task.newPartition(values)
      override def newFile(path: String): Unit = task.newFile(path)
      override def closeFile(path: String): Unit = task.closeFile(path)
      override def newRow(path: String, file: InternalRow): Unit = {
        var left = file.getLong(StagedWrite.rows)
        while (left > 0) {
          task.newRow(path, file)
          left -= 1
        }
      }
      override def getFinalStats(commitTime: Long): WriteTaskStats = task.getFinalStats(commitTime)
    }
  }

  override def processStats(stats: Seq[WriteTaskStats], commitTime: Long): Unit = job.processStats(stats, commitTime)
}
