package org.apache.spark.sql.pysparkpipeline

import java.nio.charset.{Charset, StandardCharsets}
import java.util.Locale

import scala.util.Try

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression, Literal}
import org.apache.spark.sql.catalyst.json.{JSONOptions, JSONOptionsInRead}
import org.apache.spark.sql.catalyst.util.{DateTimeUtils, FailFastMode}
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.execution.datasources.DataSourceStrategy
import org.apache.spark.sql.internal.LegacyBehaviorPolicy
import org.apache.spark.sql.types._

/** JSON files of lines in UTF-8. */
object JsonRule extends FileFormatRule {

  override val name: String = "json"

  /** Options that only some versions of Spark have, or that are no constants of it. */
  private val Unread = Seq("maxNestingDepth", "maxNumLen", "maxStringLen", "singleVariantColumn", "explodeEmbeddedArray")

  override def limitation(scan: FileSourceScanExec): Option[String] = {
    val json = parsed(scan)
    layout(json).orElse(errors(scan, json)).orElse(times(scan, json)).orElse(columns(scan))
      .map { case (option, value) => s"JSON read with $option=$value is not supported" }
      .orElse(LineFiles.limitation(scan, "JSON"))
  }

  override def options(scan: FileSourceScanExec): Map[String, String] = {
    val json = parsed(scan)
    Map(
      "corrupt" -> scan.requiredSchema.map(_.name).indexOf(json.columnNameOfCorruptRecord).toString,
      "mode" -> json.parseMode.name,
      "decodes" -> json.encoding.isDefined.toString,
      JSONOptions.ALLOW_COMMENTS -> json.allowComments.toString,
      JSONOptions.ALLOW_UNQUOTED_FIELD_NAMES -> json.allowUnquotedFieldNames.toString,
      JSONOptions.ALLOW_SINGLE_QUOTES -> json.allowSingleQuotes.toString,
      JSONOptions.ALLOW_NUMERIC_LEADING_ZEROS -> json.allowNumericLeadingZeros.toString,
      JSONOptions.ALLOW_NON_NUMERIC_NUMBERS -> json.allowNonNumericNumbers.toString,
      JSONOptions.ALLOW_BACKSLASH_ESCAPING_ANY_CHARACTER -> json.allowBackslashEscapingAnyCharacter.toString,
      JSONOptions.ALLOW_UNQUOTED_CONTROL_CHARS ->
        json.parameters.get(JSONOptions.ALLOW_UNQUOTED_CONTROL_CHARS).exists(_.toBoolean).toString) ++
      json.lineSeparator.map(JSONOptions.LINE_SEP -> _)
  }

  /** The filters that Spark's parser applies when their columns are read, grouped by these (JsonFilters). */
  override def filters(scan: FileSourceScanExec): Seq[Expression] = {
    val columns = scan.requiredSchema.map(_.name).filterNot(_ == parsed(scan).columnNameOfCorruptRecord).toSet
    def read(filter: Expression): Set[String] = filter.references.map(_.name).toSet
    if (!scan.conf.jsonFilterPushDown) Nil
    else scan.dataFilters
      .filter(f => read(f).subsetOf(columns) && DataSourceStrategy.translateFilter(f, false).isDefined)
      .toArray.groupBy(read).toSeq.flatMap(_._2) // the order of an array's groups
  }

  private def parsed(scan: FileSourceScanExec): JSONOptions = new JSONOptionsInRead(
    scan.relation.options, scan.conf.sessionLocalTimeZone, scan.conf.columnNameOfCorruptRecord)

  private type Refused = Option[(String, Any)]

  private def firstOf(refused: (Boolean, String, () => Any)*): Refused =
    refused.collectFirst { case (true, option, value) => option -> value() }

  private def layout(json: JSONOptions): Refused = firstOf(
    (json.multiLine, JSONOptions.MULTI_LINE, () => true),
    (json.lineSeparator.exists(s => s.length != 1 || s.head >= 128), JSONOptions.LINE_SEP,
      () => "another separator than one ASCII character"),
    (json.encoding.exists(Charset.forName(_) != StandardCharsets.UTF_8), JSONOptions.ENCODING, () => json.encoding.get),
    (json.locale != Locale.US, JSONOptions.LOCALE, () => json.locale.toLanguageTag))
    .orElse(Unread.collectFirst { case option if json.parameters.contains(option) => option -> json.parameters(option) })

  private def errors(scan: FileSourceScanExec, json: JSONOptions): Refused = {
    val corrupt = json.columnNameOfCorruptRecord
    val pushed = filters(scan)
    firstOf(
      (scan.relation.dataSchema.exists(f => f.name == corrupt && f.dataType != StringType),
        "a column of another type than string", () => corrupt),
      (scan.requiredSchema.map(_.name) == Seq(corrupt), "the only column", () => corrupt),
      // Pushed filters drop rows before their malformed fields are found.
      (pushed.nonEmpty && json.parseMode == FailFastMode, JSONOptions.MODE, () => s"${json.parseMode.name} and a filter"),
      (pushed.nonEmpty && !scan.dataFilters.exists(dropsNulls(scan, _)), "a filter",
        () => "that a malformed record may pass"),
      (pushed.exists(f => f.references.isEmpty || new Support(false, Exclusions.none).reason(f).isDefined), "a filter",
        () => "of another form"))
  }

  /** Return whether `filter` is not true for the row of a malformed record, whose columns are NULL. */
  private def dropsNulls(scan: FileSourceScanExec, filter: Expression): Boolean = {
    val nothing = filter.transform {
      case a: Attribute if scan.requiredSchema.exists(_.name == a.name) => Literal(null, a.dataType)
    }
    nothing.foldable && Try(nothing.eval()).toOption.exists(_ != true)
  }

  private def times(scan: FileSourceScanExec, json: JSONOptions): Refused = {
    def reads(kinds: DataType*): Boolean =
      scan.requiredSchema.exists(_.dataType.existsRecursively(kinds.contains(_)))
    val fallback = json.enableDateTimeParsingFallback.orElse(scan.conf.jsonEnableDateTimeParsingFallback)
    val policy = scan.conf.legacyTimeParserPolicy
    firstOf(
      (reads(DateType) && json.dateFormatInRead.isDefined, JSONOptions.DATE_FORMAT, () => json.dateFormatInRead.get),
      (reads(TimestampType) && json.timestampFormatInRead.isDefined, JSONOptions.TIMESTAMP_FORMAT,
        () => json.timestampFormatInRead.get),
      (reads(TimestampNTZType) && json.timestampNTZFormatInRead.isDefined, JSONOptions.TIMESTAMP_NTZ_FORMAT,
        () => json.timestampNTZFormatInRead.get),
      (reads(TimestampType) && json.zoneId != DateTimeUtils.getZoneId(scan.conf.sessionLocalTimeZone),
        JSONOptions.TIME_ZONE, () => json.zoneId),
      (reads(DateType, TimestampType) && fallback.contains(false), JSONOptions.ENABLE_DATETIME_PARSING_FALLBACK,
        () => false),
      (reads(DateType, TimestampType, TimestampNTZType) && policy != LegacyBehaviorPolicy.CORRECTED,
        "spark.sql.legacy.timeParserPolicy", () => policy))
  }

  private def columns(scan: FileSourceScanExec): Refused = {
    val names = scan.relation.dataSchema.map(_.name)
    def isOdd(f: StructField): Boolean = !f.nullable || names.count(_ == f.name) > 1
    def hasOddKeys(t: DataType): Boolean = t match {
      case m: MapType => m.keyType != StringType
      case _ => false
    }
    scan.requiredSchema.find(isOdd).map(f => "the column" -> s"${f.name}, that is not nullable or not unique,")
      .orElse(scan.requiredSchema.find(_.dataType.existsRecursively(hasOddKeys)).map(f =>
        "the column" -> s"${f.name}, that has keys of another type than string,"))
  }
}
