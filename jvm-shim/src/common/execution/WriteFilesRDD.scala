package org.apache.spark.sql.pysparkpipeline

import org.apache.hadoop.mapreduce.{JobContext, TaskAttemptContext}

import org.apache.spark.{Partition, SparkUpgradeException, TaskContext}
import org.apache.spark.internal.io.{FileCommitProtocol, FileNameSpec}
import org.apache.spark.internal.io.FileCommitProtocol.TaskCommitMessage
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.write.WriterCommitMessage
import org.apache.spark.sql.execution.datasources.{FileFormatWriter, WriteJobDescription}

/**
 * The tasks of a write. A worker writes files into a staging folder and returns a row for each: partition values, name and
 * number of rows. Spark's own task then writes these rows, with one row to a file, so that names, folders, statistics and
 * commit are Spark's; to write a row is to move its file to the place that the committer names.
 */
class WriteFilesRDD(
    fragment: FragmentRDD, write: StagedWrite, committer: FileCommitProtocol, jobTracker: String)
  extends RDD[WriterCommitMessage](fragment) {

  override protected def getPartitions: Array[Partition] = firstParent[InternalRow].partitions

  override def compute(split: Partition, context: TaskContext): Iterator[WriterCommitMessage] = {
    val hadoop = write.description.serializableHadoopConf.value
    val task = new StagingCommitter(committer, hadoop)
    context.addTaskCompletionListener[Unit](_ => task.deleteStaging())
    // The worker starts when Spark's task asks for the first row: the committer is set up by then.
    lazy val rows = {
      val chunks = firstParent[InternalRow].asInstanceOf[FragmentRDD].stageFiles(split, context, task.staging)
      DecodedChunks.of(chunks, write.fileSchema, context)
    }
    val files = new Iterator[InternalRow] {
      // Spark's writer raises it for a row that it has; so a row comes that is refused for it.
      override def hasNext: Boolean = task.refusal.nonEmpty || (try rows.hasNext catch {
        case e: SparkUpgradeException =>
          task.refusal = Some(e)
          true
      })
      override def next(): InternalRow = if (task.refusal.isEmpty) rows.next() else write.refusedRow
    }
    Iterator.single(FileFormatWriter.executeTask(
      description = write.inTask(task),
      jobTrackerID = jobTracker,
      sparkStageId = context.stageId(),
      sparkPartitionId = context.partitionId(),
      sparkAttemptNumber = context.taskAttemptId().toInt & Integer.MAX_VALUE,
      committer = task,
      iterator = files,
      concurrentOutputWriterSpec = None))
  }
}

/** The committer of a task, with the folder in which its worker writes files until they are moved. */
class StagingCommitter(committer: FileCommitProtocol, hadoop: org.apache.hadoop.conf.Configuration)
  extends FileCommitProtocol {

  /** Why a row of the task is not written. */
  var refusal: Option[SparkUpgradeException] = None

  private var folder: Option[StagingFolder] = None

  /** The staging folder, which is created when it is first asked for: after the set-up of the task. */
  def staging: StagingFolder = folder.getOrElse {
    folder = Some(StagingFolder.create(committer, hadoop))
    folder.get
  }

  /** Delete the staging folder and the files in it. Repeatable. */
  def deleteStaging(): Unit = folder.foreach(_.delete())

  override def setupJob(job: JobContext): Unit = committer.setupJob(job)

  override def commitJob(job: JobContext, messages: Seq[TaskCommitMessage]): Unit = committer.commitJob(job, messages)

  override def abortJob(job: JobContext): Unit = committer.abortJob(job)

  override def setupTask(task: TaskAttemptContext): Unit = committer.setupTask(task)

  override def newTaskTempFile(task: TaskAttemptContext, dir: Option[String], ext: String): String =
    committer.newTaskTempFile(task, dir, ext)

  override def newTaskTempFile(task: TaskAttemptContext, dir: Option[String], spec: FileNameSpec): String =
    committer.newTaskTempFile(task, dir, spec)

  override def newTaskTempFileAbsPath(task: TaskAttemptContext, dir: String, ext: String): String =
    committer.newTaskTempFileAbsPath(task, dir, ext)

  override def newTaskTempFileAbsPath(task: TaskAttemptContext, dir: String, spec: FileNameSpec): String =
    committer.newTaskTempFileAbsPath(task, dir, spec)

  override def commitTask(task: TaskAttemptContext): TaskCommitMessage = {
    deleteStaging()
    committer.commitTask(task)
  }

  override def abortTask(task: TaskAttemptContext): Unit = {
    deleteStaging()
    committer.abortTask(task)
  }
}
