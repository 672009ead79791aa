package org.apache.spark.sql.pysparkpipeline

import java.io.ByteArrayOutputStream
import java.util.{ArrayList, Base64}

import scala.jdk.CollectionConverters._
import scala.util.{Failure, Success, Try}

import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.permission.FsPermission
import org.apache.hadoop.mapreduce.Job
import org.apache.parquet.Version
import org.apache.parquet.format.Util
import org.apache.parquet.format.converter.ParquetMetadataConverter
import org.apache.parquet.hadoop.metadata.{BlockMetaData, FileMetaData, ParquetMetadata}

import org.apache.spark.internal.config.{ConfigEntry, IO_ENCRYPTION_ENABLED}
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet}
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.catalyst.util.{CaseInsensitiveMap, RebaseDateTime}
import org.apache.spark.sql.execution.datasources.{BasicWriteJobStatsTracker, WriteFilesExec, WriteJobDescription}
import org.apache.spark.sql.execution.datasources.parquet.{ParquetFileFormat, ParquetWriteSupport}
import org.apache.spark.sql.internal.{LegacyBehaviorPolicy, SQLConf}
import org.apache.spark.sql.types.{ArrayType, BinaryType, DataType, DoubleType, FloatType, MapType, NullType, StructType}

/**
 * Decides which writes of Parquet the worker does as Spark does, and describes them for it. What a file has in its footer
 * besides the places of its columns is parquet-mr's own: the schema, the keys, the orders of columns.
 */
object ParquetWrites {

  /** The codecs of parquet-mr that the worker has, with the levels at which parquet-mr compresses. */
  private val Codecs = Map[String, Option[Int]](
    "UNCOMPRESSED" -> None, "SNAPPY" -> None, "GZIP" -> Some(6), "ZSTD" -> Some(3), "LZ4_RAW" -> None)

  private val ZstdLevel = "parquet.compression.codec.zstd.level"

  /** Settings of parquet-mr that the worker follows, with the defaults of parquet-mr. */
  private val Sizes = Map(
    "parquet.block.size" -> (128L << 20),
    "parquet.page.size" -> (1L << 20),
    "parquet.dictionary.page.size" -> (1L << 20),
    "parquet.page.row.count.limit" -> 20000L)

  private val Followed = Sizes.keySet ++ Set("parquet.compression", "parquet.enable.dictionary", ZstdLevel)

  /** Settings that change no file if they have this value. */
  private val Neutral = Map(
    "parquet.writer.version" -> Set("PARQUET_1_0", "v1"),
    "parquet.summary.metadata.level" -> Set("NONE"),
    "parquet.enable.summary-metadata" -> Set("false"))

  /** Beginnings of the names of settings that concern readers, or classes that Spark sets itself. */
  private val Ignored = Seq("parquet.read.", "parquet.filter.", "parquet.task.side.", "parquet.write.support.class",
    "parquet.strict.typing", "parquet.private.", "parquet.memory.", "parquet.page.verify-checksum.", "parquet.hadoop.vectored.")

  /** Return the reason why the worker cannot do the write `op` as Spark does; None if it can. */
  def limitation(op: WriteFilesExec): Option[String] = {
    val partition = AttributeSet(op.partitionColumns)
    val data = op.child.output.filterNot(partition.contains)
    if (op.fileFormat.getClass != classOf[ParquetFileFormat]) {
      Some(s"writing files of ${op.fileFormat.getClass.getSimpleName} is not supported")
    } else if (op.bucketSpec.nonEmpty) Some("writing buckets is not supported")
    else if (op.partitionColumns.nonEmpty && op.conf.maxConcurrentOutputFileWriters > 0) {
      Some(s"${SQLConf.MAX_CONCURRENT_OUTPUT_FILE_WRITERS.key} above 0 is not supported")
    } else if (op.session.sparkContext.conf.get(IO_ENCRYPTION_ENABLED)) {
      Some(s"${IO_ENCRYPTION_ENABLED.key} is not supported by writes")
    } else if (data.isEmpty) Some("files without columns are not supported")
    else types(data, op.partitionColumns).orElse(
      if (Convert.isInEngine(op.child)) planned(op, DataTypeUtils.fromAttributes(data)) else None)
  }

  private def types(data: Seq[Attribute], partition: Seq[Attribute]): Option[String] =
    data.find(a => hasVoid(a.dataType)).map(a => s"column ${a.name} of type ${a.dataType.catalogString} is not written")
      .orElse(partition.map(a => a -> a.dataType).collectFirst {
        case (a, t @ (FloatType | DoubleType | BinaryType)) => s"partition column ${a.name} of type ${t.catalogString} is not supported"
      })

  private def hasVoid(t: DataType): Boolean = t == NullType || Support.children(t).exists(hasVoid)

  /** Return the reason against the configuration that Spark will set up for the job. */
  private def planned(op: WriteFilesExec, data: StructType): Option[String] = Try {
    val job = Job.getInstance(op.session.sessionState.newHadoopConfWithOptions(op.options))
    op.fileFormat.prepareWrite(op.session, job, CaseInsensitiveMap(op.options), data)
    job.getConfiguration
  } match {
    case Failure(error) => Some(s"Spark rejects the options: ${error.getMessage}")
    case Success(hadoop) => reason(hadoop, op.conf)
  }

  private def reason(hadoop: Configuration, conf: SQLConf): Option[String] = {
    val others = hadoop.iterator.asScala.map(_.getKey).filter(_.startsWith("parquet."))
      .filterNot(key => Followed(key) || Ignored.exists(key.startsWith))
    val unknown = others.find(key => !Neutral.get(key).exists(_.exists(_.equalsIgnoreCase(hadoop.get(key)))))
    val modes = Seq(SQLConf.PARQUET_REBASE_MODE_IN_WRITE, SQLConf.PARQUET_INT96_REBASE_MODE_IN_WRITE)
    unknown.map(key => s"Parquet written with $key=${hadoop.get(key)} is not supported")
      .orElse(if (Codecs.contains(codec(hadoop))) None else Some(s"Parquet compressed by ${codec(hadoop)} is not supported"))
      .orElse(if (hadoop.getBoolean(SQLConf.PARQUET_WRITE_LEGACY_FORMAT.key, true)) {
        Some(s"${SQLConf.PARQUET_WRITE_LEGACY_FORMAT.key}=true is not supported")
      } else None)
      .orElse(if (codec(hadoop) == "GZIP" && hadoop.get("zlib.compress.level") != null) {
        Some("Parquet written with zlib.compress.level is not supported")
      } else None)
      .orElse(modes.find(conf.getConf(_) == LegacyBehaviorPolicy.LEGACY).map(mode => s"${mode.key}=LEGACY is not supported"))
  }

  private def codec(hadoop: Configuration): String = hadoop.get("parquet.compression", "UNCOMPRESSED")

  /** Return the sink that does the write `description`, or the reason why the worker cannot do it. */
  def sink(description: WriteJobDescription, conf: SQLConf): Either[String, ObjectNode] = {
    val hadoop = description.serializableHadoopConf.value
    val foreign = description.statsTrackers.find(_.getClass != classOf[BasicWriteJobStatsTracker])
    foreign.map(tracker => s"statistics of ${tracker.getClass.getSimpleName} are not supported")
      .orElse(if (description.bucketSpec.nonEmpty) Some("writing buckets is not supported") else None)
      .orElse(reason(hadoop, conf))
      .toLeft(described(description, hadoop, conf))
  }

  private def described(description: WriteJobDescription, hadoop: Configuration, conf: SQLConf): ObjectNode = {
    val positions = description.allColumns.zipWithIndex.map { case (a, i) => a.exprId -> i }.toMap
    val node = Json.obj().put("kind", "parquet").put("codec", codec(hadoop))
    node.set[ObjectNode]("columns", Json.arr(description.dataColumns.map { a =>
      Json.obj().put("ordinal", positions(a.exprId)).put("name", a.name).put("type", Support.wireName(a.dataType))
        .put("nullable", a.nullable)
    }))
    node.set[ObjectNode]("partitionColumns", Json.arr(description.partitionColumns.map(a =>
      Json.nodes.numberNode(positions(a.exprId)))))
    Codecs(codec(hadoop)).foreach { level =>
      node.put("level", if (codec(hadoop) == "ZSTD") hadoop.getInt(ZstdLevel, level) else level)
    }
    node.set[ObjectNode]("oldest", oldest(hadoop, conf))
    node.put("maxRows", description.maxRecordsPerFile).put("timestamps", timestamps(hadoop))
      .put("dictionary", hadoop.getBoolean("parquet.enable.dictionary", true))
      .put("rowGroupBytes", size(hadoop, "parquet.block.size"))
      .put("pageBytes", size(hadoop, "parquet.page.size"))
      .put("pageRows", size(hadoop, "parquet.page.row.count.limit"))
      .put("dictionaryBytes", hadoop.getLong("parquet.dictionary.page.size", size(hadoop, "parquet.page.size")))
      .put("mode", FsPermission.getFileDefault.applyUMask(FsPermission.getUMask(hadoop)).toShort.toInt)
      .put("footer", Base64.getEncoder.encodeToString(footer(hadoop)))
  }

  private def timestamps(hadoop: Configuration): String = hadoop.get(SQLConf.PARQUET_OUTPUT_TIMESTAMP_TYPE.key)

  /** Return the first values on which the calendars of all versions of Spark agree, if Spark raises for earlier ones. */
  private def oldest(hadoop: Configuration, conf: SQLConf): ObjectNode = {
    val node = Json.obj()
    def limit(kind: String, mode: ConfigEntry[LegacyBehaviorPolicy.Value], value: Long, format: String): Unit =
      if (conf.getConf(mode) == LegacyBehaviorPolicy.EXCEPTION) {
        node.set[ObjectNode](kind, Json.obj().put("value", value).put("format", format))
      }
    limit("date", SQLConf.PARQUET_REBASE_MODE_IN_WRITE, RebaseDateTime.lastSwitchGregorianDay, "Parquet")
    if (timestamps(hadoop) == "INT96") {
      limit("timestamp", SQLConf.PARQUET_INT96_REBASE_MODE_IN_WRITE, RebaseDateTime.lastSwitchGregorianTs, "Parquet INT96")
    } else limit("timestamp", SQLConf.PARQUET_REBASE_MODE_IN_WRITE, RebaseDateTime.lastSwitchGregorianTs, "Parquet")
    node
  }

  private def size(hadoop: Configuration, key: String): Long = hadoop.getLong(key, Sizes(key))

  /** Return the footer that parquet-mr writes for a file without rows. */
  private def footer(hadoop: Configuration): Array[Byte] = {
    val context = new ParquetWriteSupport().init(hadoop)
    val metadata = new FileMetaData(context.getSchema, context.getExtraMetaData, Version.FULL_VERSION)
    val file = new ParquetMetadata(metadata, new ArrayList[BlockMetaData])
    val out = new ByteArrayOutputStream()
    Util.writeFileMetaData(new ParquetMetadataConverter().toParquetMetadata(1, file), out)
    out.toByteArray
  }
}
