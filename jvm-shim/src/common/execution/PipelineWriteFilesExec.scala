package org.apache.spark.sql.pysparkpipeline

import java.util.Date

import org.apache.spark.internal.Logging
import org.apache.spark.internal.io.SparkHadoopWriterUtils
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.connector.write.WriterCommitMessage
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.datasources.{WriteFilesExec, WriteFilesExecBase, WriteFilesSpec}

/**
 * Writes the rows of its child, which runs in the engine, to files. The worker encodes them; names, folders, commit and
 * statistics of the files are Spark's ([[WriteFilesRDD]]). `planned` is Spark's operator over the same child.
 */
case class PipelineWriteFilesExec(planned: WriteFilesExec) extends WriteFilesExecBase with Logging {

  override def child: SparkPlan = planned.child

  override def nodeName: String = "PipelineWriteFiles"

  override protected def stringArgs: Iterator[Any] = Iterator(child)

  override protected def doExecuteWrite(spec: WriteFilesSpec): RDD[WriterCommitMessage] = {
    val fragment = Fusion.fragment(child)
    ParquetWrites.sink(spec.description, conf) match {
      case Left(reason) => // an option that only the job's configuration has
        logWarning(s"pyspark_pipeline: Spark writes the files of fragment ${fragment.number}: $reason")
        inSpark(fragment, spec)
      case Right(sink) =>
        val chunks = fragment.chunks(sink)
        if (chunks.getNumPartitions == 0) inSpark(fragment, spec)
        else {
          val jobTracker = SparkHadoopWriterUtils.createJobTrackerID(new Date())
          new WriteFilesRDD(chunks, StagedWrite.of(spec.description), spec.committer, jobTracker)
        }
    }
  }

  private def inSpark(rows: SparkPlan, spec: WriteFilesSpec): RDD[WriterCommitMessage] =
    planned.copy(child = rows).executeWrite(spec)

  override protected def doCanonicalize(): SparkPlan = planned.canonicalized match {
    case canonical: WriteFilesExec => PipelineWriteFilesExec(canonical)
  }

  override protected def withNewChildInternal(newChild: SparkPlan): PipelineWriteFilesExec =
    copy(planned = planned.copy(child = newChild))
}
