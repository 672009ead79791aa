package org.apache.spark.sql.pysparkpipeline

import java.text.SimpleDateFormat
import java.util.{Locale, TimeZone}

import scala.jdk.CollectionConverters._
import scala.util.{Failure, Success, Try}

import org.apache.hadoop.conf.Configuration
import org.apache.orc.{CompressionKind, OrcConf, TypeDescription}
import org.apache.orc.TypeDescription.Category
import org.apache.orc.impl.SchemaEvolution

import org.apache.spark.sql.catalyst.expressions.PlanExpression
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata
import org.apache.spark.sql.execution.datasources.orc.OrcUtils
import org.apache.spark.sql.types._
import org.apache.spark.util.ThreadUtils

/** ORC files whose types, compression, calendars and time zones the worker reads as Spark does: their footers say it. */
object OrcRule extends FileFormatRule {

  override val name: String = "orc"

  private val Threads = 8

  /** Settings of Java's reader that change its rows. */
  private val Defaults = Seq(
    OrcConf.SKIP_CORRUPT_DATA, OrcConf.TOLERATE_MISSING_SCHEMA, OrcConf.MAX_FILE_LENGTH,
    OrcConf.FORCE_POSITIONAL_EVOLUTION_LEVEL, OrcConf.ALLOW_SARG_TO_FILTER, OrcConf.READER_USE_SELECTED,
    OrcConf.ALLOW_PLUGIN_FILTER, OrcConf.PROLEPTIC_GREGORIAN)

  private val Compressions =
    Set(CompressionKind.NONE, CompressionKind.ZLIB, CompressionKind.SNAPPY, CompressionKind.LZ4, CompressionKind.ZSTD)

  /** The day of 1582-10-15, from which both calendars agree, and one more in milliseconds, whatever the time zone is. */
  private val FirstDay = -141427L
  private val FirstMillis = (FirstDay + 1) * 86400000L

  /** The first millisecond of year 1 of the Julian calendar. */
  private val Year1 = -62135769600000L

  override def limitation(scan: FileSourceScanExec): Option[String] = {
    val hadoop = configuration(scan)
    val odd = for {
      setting <- Defaults.iterator
      name <- Seq(setting.getAttribute, setting.getHiveConfName)
      value <- Option(hadoop.get(name)) if value != String.valueOf(setting.getDefaultValue)
    } yield s"ORC read with $name=$value is not supported"
    odd.nextOption()
      .orElse(scan.requiredSchema.find(f => hasNestedTimestamps(f.dataType)).map(f =>
        s"column ${f.name} has type ${f.dataType.catalogString}, whose timestamps are not read from ORC"))
      .orElse(files(scan, hadoop))
  }

  override def options(scan: FileSourceScanExec): Map[String, String] = {
    val names = scan.relation.dataSchema.fieldNames
    Map(
      "places" -> scan.requiredSchema.map(f => names.indexOf(f.name)).mkString(" "),
      "byPlace" -> OrcConf.FORCE_POSITIONAL_EVOLUTION.getBoolean(configuration(scan)).toString,
      "base" -> (new SimpleDateFormat("yyyy-MM-dd HH:mm:ss").parse("2015-01-01 00:00:00").getTime / 1000).toString)
  }

  private def configuration(scan: FileSourceScanExec): Configuration =
    scan.session.sessionState.newHadoopConfWithOptions(scan.relation.options)

  private def hasNestedTimestamps(t: DataType): Boolean =
    t != TimestampType && t.existsRecursively(_ == TimestampType)

  private def files(scan: FileSourceScanExec, hadoop: Configuration): Option[String] = {
    val known = scan.partitionFilters.filterNot(_.exists(_.isInstanceOf[PlanExpression[_]]))
    val listed = scan.relation.location.listFiles(known, scan.dataFilters).flatMap(_.files)
    ThreadUtils.parmap(listed, "readingOrcFooters", Threads)(file(scan, hadoop, _)).flatten.headOption
  }

  private def file(scan: FileSourceScanExec, hadoop: Configuration, file: FileStatusWithMetadata): Option[String] =
    Try(OrcFooters.of(file, hadoop)) match {
      case Failure(_) => Some(s"the footer of ${file.getPath.getName} is not readable")
      case Success(footer) => reason(scan, hadoop, footer).map(r => s"${file.getPath.getName}: $r")
    }

  private def reason(scan: FileSourceScanExec, hadoop: Configuration, footer: OrcFooter): Option[String] = {
    val names = footer.schema.getCategory match {
      case Category.STRUCT => footer.schema.getFieldNames.asScala.toSeq
      case _ => return Some("rows that are no structs are not supported")
    }
    if (!Compressions(footer.compression)) Some(s"the compression ${footer.compression} is not supported")
    else if (footer.isEncrypted) Some("encrypted columns are not supported")
    else if (SchemaEvolution.checkAcidSchema(footer.schema)) Some("events of transactions are not supported")
    else if (names.exists(_.startsWith("_col")) && !names.forall(_.matches("_col\\d+"))) {
      Some("some names of columns are like those of files without names")
    } else {
      val sensitive = scan.conf.caseSensitiveAnalysis
      Try(OrcUtils.requestedColumnIds(sensitive, scan.relation.dataSchema, scan.requiredSchema, footer.schema, hadoop)) match {
        case Failure(_) => Some("its columns do not fit the schema")
        case Success(None) => None
        case Success(Some((_, byName))) => columns(scan, footer, names, byName)
      }
    }
  }

  private def columns(scan: FileSourceScanExec, footer: OrcFooter, names: Seq[String], byName: Boolean): Option[String] = {
    val sensitive = scan.conf.caseSensitiveAnalysis
    val table = scan.relation.dataSchema.fieldNames
    val stored = footer.schema.getChildren.asScala
    scan.requiredSchema.iterator.flatMap { field =>
      val places = if (byName) named(names, field.name, sensitive) else Seq(table.indexOf(field.name)).filter(_ < names.length)
      places match {
        case Seq() => None
        case Seq(place) if !fits(stored(place), field.dataType, sensitive) =>
          Some(s"column ${field.name} is stored as ${stored(place)}, which is not read as ${field.dataType.catalogString}")
        case Seq(place) => calendar(stored(place), footer).map(why => s"column ${field.name} holds $why")
        case _ => Some(s"several columns are named ${field.name}")
      }
    }.nextOption()
  }

  private def named(names: Seq[String], wanted: String, sensitive: Boolean): Seq[Int] = {
    def form(name: String): String = if (sensitive) name else name.toLowerCase(Locale.ROOT)
    names.indices.filter(i => form(names(i)) == form(wanted))
  }

  /** Return whether the worker reads values of the type `stored` as `wanted`. */
  private def fits(stored: TypeDescription, wanted: DataType, sensitive: Boolean): Boolean = (stored.getCategory, wanted) match {
    case (Category.BOOLEAN, BooleanType) | (Category.DOUBLE, DoubleType) | (Category.BINARY, BinaryType) |
        (Category.DATE, DateType) | (Category.TIMESTAMP, TimestampType) => true
    case (Category.BYTE, ByteType | ShortType | IntegerType | LongType) => true
    case (Category.SHORT, ShortType | IntegerType | LongType) => true
    case (Category.INT, IntegerType | LongType | _: YearMonthIntervalType) => true
    case (Category.LONG, LongType | TimestampNTZType | _: DayTimeIntervalType) => true
    case (Category.FLOAT, FloatType | DoubleType) => true
    case (Category.STRING | Category.VARCHAR, _: StringType) => true
    case (Category.DECIMAL, d: DecimalType) => stored.getScale == d.scale && stored.getPrecision <= d.precision
    case (Category.LIST, a: ArrayType) => fits(stored.getChildren.get(0), a.elementType, sensitive)
    case (Category.MAP, m: MapType) =>
      fits(stored.getChildren.get(0), m.keyType, sensitive) && fits(stored.getChildren.get(1), m.valueType, sensitive)
    case (Category.STRUCT, s: StructType) =>
      val names = stored.getFieldNames.asScala.toSeq
      s.forall { field =>
        named(names, field.name, sensitive) match {
          case Seq() => true
          case Seq(place) => fits(stored.getChildren.get(place), field.dataType, sensitive)
          case _ => false
        }
      }
    case _ => false
  }

  /** Return which dates or timestamps of a column, if any, the worker reads in another calendar or time zone. */
  private def calendar(stored: TypeDescription, footer: OrcFooter): Option[String] = {
    val ids = stored.getId to stored.getMaximumId
    def before(first: Map[Int, Long], bound: Long): Boolean = ids.exists(first.get(_).exists(_ < bound))
    if (footer.isProleptic && (before(footer.days, FirstDay) || before(footer.millis, FirstMillis))) {
      Some("dates before 1582-10-15 of the proleptic Gregorian calendar")
    } else if (before(footer.millis, Year1)) Some("timestamps before the year 1")
    else if (stored.getCategory == Category.TIMESTAMP) footer.timeZones.find(!isOwn(_)).map(z => s"timestamps of the time zone $z")
    else None
  }

  private def isOwn(zone: String): Boolean =
    zone.isEmpty || TimeZone.getTimeZone(zone).hasSameRules(TimeZone.getDefault)
}
