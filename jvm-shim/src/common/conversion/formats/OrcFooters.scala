package org.apache.spark.sql.pysparkpipeline

import java.util.concurrent.Callable

import scala.jdk.CollectionConverters._

import com.google.common.cache.CacheBuilder
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.orc.{ColumnStatistics, CompressionKind, OrcFile, TypeDescription}
import org.apache.orc.impl.RecordReaderImpl

import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata
import org.apache.spark.util.Utils

/** What the footer of an ORC file says, and the time zones of its stripes, which are read when they are asked for. */
class OrcFooter(path: Path, hadoop: Configuration) {
  val (
    schema: TypeDescription, compression: CompressionKind, isProleptic: Boolean, isEncrypted: Boolean,
    statistics: Array[ColumnStatistics]) =
    Utils.tryWithResource(OrcFile.createReader(path, OrcFile.readerOptions(hadoop))) { reader =>
      (reader.getSchema, reader.getCompressionKind, reader.writerUsedProlepticGregorian,
        reader.getColumnEncryptionKeys.nonEmpty, reader.getStatistics)
    }

  lazy val timeZones: Set[String] =
    Utils.tryWithResource(OrcFile.createReader(path, OrcFile.readerOptions(hadoop))) { reader =>
      val nothing = Array.fill(schema.getMaximumId + 1)(false)
      Utils.tryWithResource(reader.rows(reader.options.include(nothing)).asInstanceOf[RecordReaderImpl]) { rows =>
        reader.getStripes.asScala.map(rows.readStripeFooter(_).getWriterTimezone).toSet
      }
    }
}

/** The footers of ORC files that were read last, by path, length and time of modification. */
object OrcFooters {
  private val Most = 4096

  private val known = CacheBuilder.newBuilder().maximumSize(Most).build[(Path, Long, Long), OrcFooter]()

  /** Return the footer of a file; raise what Java's reader raises for a damaged one, in the cause. */
  def of(file: FileStatusWithMetadata, hadoop: Configuration): OrcFooter = {
    val read: Callable[OrcFooter] = () => new OrcFooter(file.getPath, hadoop)
    known.get((file.getPath, file.getLen, file.getModificationTime), read)
  }
}
