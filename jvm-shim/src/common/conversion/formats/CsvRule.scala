package org.apache.spark.sql.pysparkpipeline

import java.nio.charset.StandardCharsets
import java.util.Locale

import com.univocity.parsers.csv.UnescapedQuoteHandling

import org.apache.spark.sql.catalyst.csv.CSVOptions
import org.apache.spark.sql.catalyst.util.{DateTimeUtils, FailFastMode}
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.internal.LegacyBehaviorPolicy
import org.apache.spark.sql.types.{DataType, DateType, StringType, StructField, TimestampNTZType, TimestampType}

/** CSV files of lines in UTF-8, whose marks are ASCII characters. */
object CsvRule extends FileFormatRule {

  override val name: String = "csv"

  override def limitation(scan: FileSourceScanExec): Option[String] = {
    val csv = parsed(scan)
    marks(csv).orElse(layout(csv)).orElse(errors(scan, csv)).orElse(times(scan, csv)).orElse(columns(scan))
      .map { case (option, value) => s"CSV read with $option=$value is not supported" }
      .orElse(LineFiles.limitation(scan, "CSV"))
  }

  override def options(scan: FileSourceScanExec): Map[String, String] = {
    val csv = parsed(scan)
    val corrupt = csv.columnNameOfCorruptRecord
    val all = scan.relation.dataSchema.map(_.name).filterNot(_ == corrupt)
    val read = scan.requiredSchema.map(_.name)
    val fields = scan.requiredSchema.filterNot(_.name == corrupt)
    // Spark's parser selects the fields of some columns, and then does not count those of a line.
    val selects = csv.isColumnPruningEnabled(scan.requiredSchema) && (fields.size < all.size || fields.isEmpty)
    Map(
      "places" -> read.map(all.indexOf(_)).mkString(" "),
      "width" -> all.size.toString,
      "counts" -> (!selects).toString,
      "mode" -> csv.parseMode.name,
      "header" -> csv.headerFlag.toString,
      "separator" -> csv.delimiter.head.toInt.toString,
      "quote" -> csv.quote.toInt.toString,
      "escape" -> csv.escape.toInt.toString,
      "comment" -> (if (csv.isCommentSet) csv.comment.toInt else -1).toString,
      "ignoreLeadingWhiteSpace" -> csv.ignoreLeadingWhiteSpaceInRead.toString,
      "ignoreTrailingWhiteSpace" -> csv.ignoreTrailingWhiteSpaceInRead.toString,
      "nullValue" -> csv.nullValue,
      "emptyValue" -> csv.emptyValueInRead,
      "nanValue" -> csv.nanValue,
      "positiveInf" -> csv.positiveInf,
      "negativeInf" -> csv.negativeInf)
  }

  private def parsed(scan: FileSourceScanExec): CSVOptions = new CSVOptions(
    scan.relation.options, scan.conf.csvColumnPruning, scan.conf.sessionLocalTimeZone, scan.conf.columnNameOfCorruptRecord)

  private type Refused = Option[(String, Any)]

  private def firstOf(refused: (Boolean, String, () => Any)*): Refused =
    refused.collectFirst { case (true, option, value) => option -> value() }

  private def marks(csv: CSVOptions): Refused = {
    def isOdd(mark: Char): Boolean = mark >= 128 || mark == '\n' || mark == '\r'
    val sep = csv.delimiter
    firstOf(
      (sep.length != 1 || isOdd(sep.head) || sep.head == 0 || sep.head == csv.quote || sep.head == csv.escape,
        CSVOptions.SEP, () => sep),
      (isOdd(csv.quote), CSVOptions.QUOTE, () => csv.quote),
      (isOdd(csv.escape), CSVOptions.ESCAPE, () => csv.escape),
      (isOdd(csv.comment), CSVOptions.COMMENT, () => csv.comment),
      (csv.charToEscapeQuoteEscaping.isDefined, CSVOptions.CHAR_TO_ESCAPE_QUOTE_ESCAPING,
        () => csv.charToEscapeQuoteEscaping.get),
      (csv.unescapedQuoteHandling != UnescapedQuoteHandling.STOP_AT_DELIMITER, CSVOptions.UNESCAPED_QUOTE_HANDLING,
        () => csv.unescapedQuoteHandling))
  }

  private def layout(csv: CSVOptions): Refused = firstOf(
    (csv.multiLine, CSVOptions.MULTI_LINE, () => true),
    (csv.lineSeparator.isDefined, CSVOptions.LINE_SEP, () => "a separator"),
    (csv.charset != StandardCharsets.UTF_8.name, CSVOptions.ENCODING, () => csv.charset),
    (csv.maxColumns != 20480, CSVOptions.MAX_COLUMNS, () => csv.maxColumns),
    (csv.maxCharsPerColumn != -1, CSVOptions.MAX_CHARS_PER_COLUMN, () => csv.maxCharsPerColumn),
    (csv.inputBufferSize.isDefined, CSVOptions.INPUT_BUFFER_SIZE, () => csv.inputBufferSize.get),
    (csv.locale != Locale.US, CSVOptions.LOCALE, () => csv.locale.toLanguageTag),
    // The parser leaves the line to look for the start of white space.
    (csv.ignoreTrailingWhiteSpaceInRead && !csv.ignoreLeadingWhiteSpaceInRead, CSVOptions.IGNORE_TRAILING_WHITESPACE,
      () => "true without ignoreLeadingWhiteSpace"),
    // Whether white space is empty or NULL depends on the fields before it.
    (csv.ignoreLeadingWhiteSpaceInRead && csv.emptyValueInRead != csv.nullValue, CSVOptions.EMPTY_VALUE,
      () => s"${csv.emptyValueInRead} and ignoreLeadingWhiteSpace"))

  private def errors(scan: FileSourceScanExec, csv: CSVOptions): Refused = firstOf(
    (scan.relation.dataSchema.exists(f => f.name == csv.columnNameOfCorruptRecord && f.dataType != StringType),
      "a column of another type than string", () => csv.columnNameOfCorruptRecord),
    (scan.requiredSchema.map(_.name) == Seq(csv.columnNameOfCorruptRecord), "the only column",
      () => csv.columnNameOfCorruptRecord),
    (csv.headerFlag && !csv.enforceSchema, CSVOptions.ENFORCE_SCHEMA, () => false),
    // Pushed filters drop rows before their malformed fields are found.
    (csv.parseMode == FailFastMode && scan.dataFilters.nonEmpty && scan.conf.csvFilterPushDown, CSVOptions.MODE,
      () => s"${csv.parseMode.name} and a filter"))

  private def times(scan: FileSourceScanExec, csv: CSVOptions): Refused = {
    def reads(kinds: DataType*): Boolean = scan.requiredSchema.exists(f => kinds.contains(f.dataType))
    val fallback = csv.enableDateTimeParsingFallback.orElse(scan.conf.csvEnableDateTimeParsingFallback)
    val policy = scan.conf.legacyTimeParserPolicy
    firstOf(
      (reads(DateType) && csv.dateFormatOption.isDefined, CSVOptions.DATE_FORMAT, () => csv.dateFormatOption.get),
      (reads(TimestampType) && csv.timestampFormatInRead.isDefined, CSVOptions.TIMESTAMP_FORMAT,
        () => csv.timestampFormatInRead.get),
      (reads(TimestampNTZType) && csv.timestampNTZFormatInRead.isDefined, CSVOptions.TIMESTAMP_NTZ_FORMAT,
        () => csv.timestampNTZFormatInRead.get),
      (reads(TimestampType) && csv.zoneId != DateTimeUtils.getZoneId(scan.conf.sessionLocalTimeZone),
        CSVOptions.TIME_ZONE, () => csv.zoneId),
      (reads(DateType, TimestampType) && fallback.isDefined, CSVOptions.ENABLE_DATETIME_PARSING_FALLBACK,
        () => fallback.get),
      (reads(DateType, TimestampType, TimestampNTZType) && policy != LegacyBehaviorPolicy.CORRECTED,
        "spark.sql.legacy.timeParserPolicy", () => policy))
  }

  private def columns(scan: FileSourceScanExec): Refused = {
    val names = scan.relation.dataSchema.map(_.name)
    def isOdd(f: StructField): Boolean = !f.nullable || names.count(_ == f.name) > 1
    scan.requiredSchema.find(isOdd).map(f => "the column" -> s"${f.name}, that is not nullable or not unique,")
  }
}
