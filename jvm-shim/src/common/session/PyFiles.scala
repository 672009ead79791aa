package org.apache.spark.sql.pysparkpipeline

import java.io.File
import java.nio.file.{AtomicMoveNotSupportedException, FileAlreadyExistsException, Files, Path, StandardCopyOption}
import java.util.zip.ZipFile

import scala.jdk.CollectionConverters._
import scala.util.Using
import scala.util.control.NonFatal

import org.apache.spark.{SparkConf, SparkFiles}
import org.apache.spark.internal.Logging
import org.apache.spark.util.Utils

/**
 * Finds the packages that `--py-files` brought to this host. Spark adds `.zip` and `.egg` files to a worker's path
 * without unpacking them, and ignores wheels. If an archive contains the engine, it is unpacked beside itself, because
 * the engine reads files of its own.
 */
object PyFiles extends Logging {

  private val Endings = Seq(".whl", ".zip", ".egg")
  private val Engine = "pyspark_pipeline/__init__.py"

  /** Return the entries for the path of a worker on this host. */
  def packages(conf: SparkConf): Seq[String] =
    conf.get("spark.submit.pyFiles", "").split(",").toSeq.map(_.trim).filter(name => Endings.exists(name.endsWith))
      .map(name => new File(SparkFiles.getRootDirectory(), name.substring(name.lastIndexOf('/') + 1)).getCanonicalFile)
      .filter(_.isFile).map(unpackedIfEngine(_).getPath)

  private def unpackedIfEngine(archive: File): File = synchronized {
    val folder = new File(archive.getPath + ".unpacked")
    try {
      if (folder.isDirectory) folder
      else Using.resource(new ZipFile(archive)) { zip =>
        if (zip.getEntry(Engine) == null) archive
        else {
          unpack(zip, folder.toPath)
          folder
        }
      }
    } catch {
      case NonFatal(e) =>
        logWarning(s"pyspark_pipeline could not unpack $archive", e)
        archive
    }
  }

  /** Unpack into `folder`, which appears once it is complete. */
  private def unpack(zip: ZipFile, folder: Path): Unit = {
    val temporary = Files.createTempDirectory(folder.getParent, "pyspark_pipeline-")
    zip.entries().asScala.filterNot(_.isDirectory).foreach { entry =>
      val target = temporary.resolve(entry.getName).normalize()
      require(target.startsWith(temporary), s"${entry.getName} is outside of the archive")
      Files.createDirectories(target.getParent)
      Using.resource(zip.getInputStream(entry))(Files.copy(_, target))
    }
    try Files.move(temporary, folder, StandardCopyOption.ATOMIC_MOVE)
    catch {
      case e @ (_: AtomicMoveNotSupportedException | _: FileAlreadyExistsException) =>
        Utils.deleteRecursively(temporary.toFile)
        throw e
    }
  }
}
