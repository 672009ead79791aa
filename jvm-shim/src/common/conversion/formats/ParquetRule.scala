package org.apache.spark.sql.pysparkpipeline

import scala.util.Try

import org.apache.parquet.crypto.DecryptionPropertiesFactory

import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.util.Utils

/** Parquet files without the row index of a row and without keys of encrypted columns. */
object ParquetRule extends FileFormatRule {

  override val name: String = "parquet"

  override def limitation(scan: FileSourceScanExec): Option[String] = encryption(scan).orElse(
    if (scan.requiredSchema.exists(_.name == ParquetFileFormat.ROW_INDEX_TEMPORARY_COLUMN_NAME)) {
      Some("metadata columns are not supported")
    } else None)

  /** The encodings that the vectorized reader of this Spark refuses, and pyarrow reads. */
  private lazy val unreadEncodings: Seq[String] = {
    val reader = "org.apache.spark.sql.execution.datasources.parquet.VectorizedByteStreamSplitValuesReader"
    if (Try(Utils.classForName[AnyRef](reader)).isSuccess) Nil else Seq("BYTE_STREAM_SPLIT")
  }

  /** Whether this Spark reads times of day of nanoseconds, and cuts off the digits that their type does not have. */
  private lazy val exactTimes: Boolean =
    Try(Utils.classForName[AnyRef]("org.apache.spark.sql.execution.datasources.parquet.types.ops.TimeTypeParquetOps")).isSuccess

  override def options(scan: FileSourceScanExec): Map[String, String] =
    Seq(
      Option.when(unreadEncodings.nonEmpty)("unreadEncodings" -> unreadEncodings.mkString(" ")),
      Option.when(exactTimes)("exactTimes" -> "true")).flatten.toMap

  /** The engine has no keys: a factory of decryption properties may come from the session, Hadoop or the read's options. */
  private def encryption(scan: FileSourceScanExec): Option[String] = {
    val factory = DecryptionPropertiesFactory.CRYPTO_FACTORY_CLASS_PROPERTY_NAME
    val hadoop = scan.session.sparkContext.hadoopConfiguration
    val set = scan.relation.options.get(factory)
      .orElse(Option(scan.conf.getConfString(factory, null)))
      .orElse(Option(hadoop.get(factory)))
    set.filter(_.nonEmpty).map(_ => s"Parquet encryption ($factory) is not supported")
  }
}
