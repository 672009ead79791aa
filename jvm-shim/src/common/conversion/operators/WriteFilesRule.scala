package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.datasources.WriteFilesExec
import org.apache.spark.sql.internal.SQLConf

/** Writes of files. They end a fragment: its sink writes, and the node above it commits as Spark does. */
object WriteFilesRule extends OperatorRule[WriteFilesExec] {

  override def limitation(op: WriteFilesExec): Option[String] = ParquetWrites.limitation(op)

  /** Partition columns are columns of the input. */
  override def expressions(op: WriteFilesExec): Seq[Expression] = Nil

  override def finish(
      converted: PipelineOperatorExec, planned: WriteFilesExec, isOrderRead: Boolean, conf: SQLConf)
    : PipelineWriteFilesExec = {
    val write = PipelineWriteFilesExec(converted.original.asInstanceOf[WriteFilesExec])
    write.copyTagsFrom(converted)
    write
  }
}
