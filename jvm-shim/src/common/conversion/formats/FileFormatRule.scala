package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.FileSourceScanExec

/**
 * The knowledge of the shim about one file format of Spark; [[FileFormats]] finds it by the class of the format. The
 * types and settings that the worker's reader supports are in the manifest; a rule has what only code can check.
 *
 * Splits are those of Spark. The reader decides which row groups belong to a split.
 */
trait FileFormatRule {

  /** The name under which the worker registers the reader (`reads_format`). */
  def name: String

  /** Return the reason why the reader cannot read the files of `scan` as Spark does. */
  def limitation(scan: FileSourceScanExec): Option[String] = None

  /** Return those filters of `scan` that Spark's own reader applies to the rows of damaged files, in its order. */
  def filters(scan: FileSourceScanExec): Seq[Expression] = Nil

  /** Return the options that the reader needs for `scan`. */
  def options(scan: FileSourceScanExec): Map[String, String] = Map.empty
}
