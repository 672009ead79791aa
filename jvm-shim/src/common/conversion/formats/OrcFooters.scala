package org.apache.spark.sql.pysparkpipeline

import java.util.concurrent.Callable

import scala.jdk.CollectionConverters._

import com.google.common.cache.CacheBuilder
import com.google.common.collect.Interners
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.orc.{ColumnStatistics, CompressionKind, DateColumnStatistics, OrcFile, TimestampColumnStatistics,
  TypeDescription}
import org.apache.orc.impl.RecordReaderImpl

import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata
import org.apache.spark.util.Utils

/**
 * What the footer of an ORC file says: `days` and `millis` have the first date and timestamp of each column that has any, by
 * its number. The time zones of its stripes are read when they are asked for.
 */
class OrcFooter(path: Path, hadoop: Configuration) {
  val (
    schema: TypeDescription, compression: CompressionKind, isProleptic: Boolean, isEncrypted: Boolean,
    days: Map[Int, Long], millis: Map[Int, Long]) =
    Utils.tryWithResource(OrcFile.createReader(path, OrcFile.readerOptions(hadoop))) { reader =>
      val columns = reader.getStatistics.zipWithIndex.filter(_._1.getNumberOfValues > 0)
      def first(values: PartialFunction[ColumnStatistics, Option[Long]]): Map[Int, Long] =
        columns.flatMap { case (s, id) => values.lift(s).map(id -> _.getOrElse(Long.MinValue)) }.toMap
      (OrcFooters.shared(reader.getSchema), reader.getCompressionKind, reader.writerUsedProlepticGregorian,
        reader.getColumnEncryptionKeys.nonEmpty,
        first { case s: DateColumnStatistics => Option(s.getMinimumLocalDate).map(_.toEpochDay) },
        first { case s: TimestampColumnStatistics => Option(s.getMinimumUTC).map(_.getTime) })
    }

  lazy val timeZones: Set[String] =
    Utils.tryWithResource(OrcFile.createReader(path, OrcFile.readerOptions(hadoop))) { reader =>
      val nothing = Array.fill(schema.getMaximumId + 1)(false)
      Utils.tryWithResource(reader.rows(reader.options.include(nothing)).asInstanceOf[RecordReaderImpl]) { rows =>
        reader.getStripes.asScala.map(rows.readStripeFooter(_).getWriterTimezone).toSet
      }
    }
}

/** The footers of the ORC files that were read last, by path, length and time of modification; equal schemas are one. */
object OrcFooters {
  private val Most = 65536

  private val known = CacheBuilder.newBuilder().maximumSize(Most).build[(Path, Long, Long), OrcFooter]()

  private val schemas = Interners.newWeakInterner[TypeDescription]()

  /** Return the schema that is kept for this one. */
  def shared(schema: TypeDescription): TypeDescription = schemas.intern(schema)

  /** Return the footer of a file; raise what Java's reader raises for a damaged one, in the cause. */
  def of(file: FileStatusWithMetadata, hadoop: Configuration): OrcFooter = {
    val read: Callable[OrcFooter] = () => new OrcFooter(file.getPath, hadoop)
    known.get((file.getPath, file.getLen, file.getModificationTime), read)
  }
}
