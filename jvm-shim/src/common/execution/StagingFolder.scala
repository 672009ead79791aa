package org.apache.spark.sql.pysparkpipeline

import java.io.File
import java.nio.file.Files
import java.util.UUID

import scala.util.Try

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileAlreadyExistsException, FileUtil, LocalFileSystem, Path}
import org.apache.hadoop.io.IOUtils
import org.apache.hadoop.mapreduce.lib.output.FileOutputCommitter
import org.apache.parquet.hadoop.ParquetOutputFormat
import org.apache.parquet.hadoop.util.HadoopOutputFile

import org.apache.spark.SparkEnv
import org.apache.spark.internal.io.{FileCommitProtocol, HadoopMapReduceCommitProtocol}
import org.apache.spark.util.Utils

/**
 * The local folder in which the worker of a task writes files. If the files are for a local file system, it is in the task's
 * own folder of the committer, `workPath`, so that each is only renamed; else in Spark's local directories.
 */
class StagingFolder(val folder: File, workPath: Option[File], hadoop: Configuration) {

  /** Move the file `name` to `path`; raise if there is a file, as Spark does. */
  def move(name: String, path: String): Unit = {
    val (from, to) = (new File(folder, name), new Path(path))
    StagingFolder.local(to, hadoop) match {
      case Some(file) =>
        if (file.exists()) throw new FileAlreadyExistsException(s"File already exists: $path")
        Files.createDirectories(file.getParentFile.toPath)
        Files.move(from.toPath, file.toPath)
      case None => copy(from, to)
    }
  }

  private def copy(from: File, to: Path): Unit = {
    val target = HadoopOutputFile.fromPath(to, hadoop)
      .create(hadoop.getLong(ParquetOutputFormat.BLOCK_SIZE, StagingFolder.DefaultBlockSize))
    Utils.tryWithResource(Files.newInputStream(from.toPath)) { source =>
      try IOUtils.copyBytes(source, target, StagingFolder.BufferBytes, false) catch {
        case e: Throwable =>
          Try(target.close())
          throw e
      }
      target.close()
    }
    Files.delete(from.toPath)
  }

  /**
   * Delete the folder with its files, and the task's own folder if it is empty. Repeatable. Files stay if a killed worker
   * still writes them: the committer deletes the task's folder. Nothing is raised, also in a thread that is interrupted, for
   * which Spark's own deletion, a process of `rm`, raises before the committer has deleted the files of the task.
   */
  def delete(): Unit = if (folder.exists()) {
    FileUtil.fullyDelete(folder)
    workPath.foreach(_.delete())
  }
}

object StagingFolder {
  private val BufferBytes = 1 << 20

  private val DefaultBlockSize = 128L << 20

  /** Hadoop's file system of local files, and the same behind Hive's proxy, which Hive's jar registers for `file:`. */
  private val LocalFileSystems = Set(classOf[LocalFileSystem].getName, "org.apache.hadoop.hive.ql.io.ProxyLocalFileSystem")

  def create(committer: FileCommitProtocol, hadoop: Configuration): StagingFolder = {
    val work = workPath(committer).flatMap(local(_, hadoop))
    val around = work.getOrElse(new File(Utils.getLocalDir(SparkEnv.get.conf)))
    val folder = new File(around, s".pipeline-${UUID.randomUUID()}")
    Files.createDirectories(folder.toPath)
    new StagingFolder(folder, work, hadoop)
  }

  /** Return the file at `path` if that is in the local file system, as Spark accesses it by default. */
  private def local(path: Path, hadoop: Configuration): Option[File] = {
    val files = path.getFileSystem(hadoop)
    if (LocalFileSystems(files.getClass.getName) && files.getUri.getScheme == "file") Some(new File(path.toUri.getPath))
    else None
  }

  /** Return the task's own folder of Hadoop's committer, which Spark's keeps for itself. */
  private def workPath(committer: FileCommitProtocol): Option[Path] = committer match {
    case _: HadoopMapReduceCommitProtocol => Try {
      val field = classOf[HadoopMapReduceCommitProtocol].getDeclaredField("committer")
      field.setAccessible(true)
      field.get(committer)
    }.toOption.collect { case files: FileOutputCommitter => files.getWorkPath }.flatMap(Option(_))
    case _ => None
  }
}
