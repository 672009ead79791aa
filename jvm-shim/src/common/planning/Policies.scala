package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight, BuildSide}
import org.apache.spark.sql.catalyst.plans._

/** The policies of planning: functions from the figures of [[CostModel]] to a [[Decision]]. Sizes are bytes. */
object Policies {
  import CostModel._

  /**
   * Broadcast a side of a join if its rows (`table`) fit and the `other` side, which reads much larger files, then needs no
   * shuffle. The sizes of files are evaluated only if they decide.
   */
  def broadcast(
      side: BuildSide, table: BigInt, limit: BigInt, isOtherShuffled: => Boolean, scans: => BigInt, other: => BigInt)
    : Decision[Boolean] = {
    val what = s"broadcast of the ${name(side)} side"
    val sizes = Seq(Figure("estimated", table), Figure("limit", limit))
    if (table > limit) Decision(false, what, sizes)
    else if (isOtherShuffled) Decision(false, what, sizes, "the other side is shuffled already")
    else {
      val (read, otherRead) = (scans, other)
      val all = sizes ++ Seq(Figure("its scans", read), Figure("the other side's", otherRead))
      if (outweighs(otherRead, read)) Decision(true, what, all)
      else Decision(false, what, all, s"the other side reads less than $LargeFactor times its bytes")
    }
  }

  /** Build the smaller side of a hash join; of an outer join the preserved side only if it is much smaller. */
  def buildSide(kind: JoinType, left: BigInt, right: BigInt): Decision[BuildSide] = {
    val ofPreserved = s"the preserved side is built if the other is more than $PreservedFactor times larger"
    val (side, why) = kind match {
      case LeftSemi | LeftAnti | ExistenceJoin(_) => BuildRight -> "a semi, anti or existence join always builds it"
      case LeftOuter => (if (left * PreservedFactor < right) BuildLeft else BuildRight) -> ofPreserved
      case RightOuter => (if (right * PreservedFactor < left) BuildRight else BuildLeft) -> ofPreserved
      case _ => (if (left < right) BuildLeft else BuildRight) -> ""
    }
    Decision(side, s"build of the ${name(side)} side", Seq(Figure("left", left), Figure("right", right)), why)
  }

  /**
   * Keep a region in the engine if its work pays for the transition of its rows back to Spark: if one of its operators is
   * heavy or it returns one row, and it reads a stage of the engine or its scans read enough bytes. The rows of a small
   * scan cost little, so a region with one goes with the subqueries that the engine runs for it. Chunks to the JVM and back cost
   * what an aggregation without keys saves: if Spark evaluates expressions for the region (`isEvaluated`), it needs other work.
   */
  def region(
      isHeavy: Boolean, isEvaluated: Boolean, isOneRow: Boolean, hasSubqueries: Boolean, readsStage: Boolean, scans: BigInt,
      minimum: Long)
    : Decision[Boolean] = {
    val what = "region in the engine"
    if (hasSubqueries && !readsStage && scans > 0 && scans < minimum) Decision(true, what, Nil, "its subqueries run in the engine")
    else if (!isHeavy && !isOneRow) Decision(false, what, Nil,
      "without an aggregation, join, sort or window the transition to rows costs more than it saves")
    else if (isEvaluated) Decision(false, what, Nil,
      "Spark evaluates expressions for it, and it neither groups, joins, sorts nor computes windows")
    else if (readsStage) Decision(true, what, Nil, "it reads a stage")
    else if (scans >= minimum) Decision(true, what, Seq(Figure("scans", scans), Figure("minimum", minimum)))
    else Decision(false, what, Nil,
      s"its scans read $scans bytes, fewer than ${Settings.Prefix}cost.minScanBytes=$minimum")
  }

  /** Read rows that operators in Spark produce only if the user asks for it, or no cost counts. */
  def jvmInput(setting: String, isCostOn: Boolean, producers: Seq[String]): Decision[Boolean] = {
    val from = producers.mkString(", ")
    val reads = setting == "always" || (setting == "auto" && !isCostOn)
    val why = if (reads) s"jvmInput=$setting" else s"its input comes as rows from $from"
    Decision(reads, s"input of rows from $from", Nil, why)
  }

  /** A side of a join: whether it aggregates, in how many places it drops rows, and the bytes of the files it reads. */
  class JoinSide(val isGrouped: Boolean, countReductions: => Int, scanBytes: => BigInt) {
    lazy val reductions: Int = countReductions
    lazy val scans: BigInt = scanBytes
  }

  /**
   * Delay the stage of `large`, a side of a join, if that of `small` is likely to save work in it. An aggregated side runs
   * after a side that drops rows; else the side with more reductions runs first; else the bytes of files decide.
   */
  def delay(side: BuildSide, large: JoinSide, small: JoinSide): Decision[Boolean] = {
    val what = s"delay of the ${name(side)} side"
    def dropping = Seq(Figure("its reductions", large.reductions, isBytes = false),
      Figure("the other side's", small.reductions, isBytes = false))
    if (small.isGrouped != large.isGrouped) {
      Decision(large.isGrouped && small.reductions > 0, what, dropping, "it aggregates")
    } else if (small.reductions != large.reductions) Decision(small.reductions > large.reductions, what, dropping)
    else {
      val read = Seq(Figure("its scans", large.scans), Figure("the other side's", small.scans))
      Decision(outweighs(large.scans, small.scans), what, read)
    }
  }

  /** Reduce a scan by the keys of another `source` if the scan reads at least `minimum` and much more than the keys. */
  def reduction(source: String, scan: BigInt, keys: BigInt, minimum: BigInt, isForced: Boolean): Decision[Boolean] = {
    val isWorth = scan >= minimum && scan >= keys * ReductionFactor
    val why = if (isForced) "join.reduction=always" else ""
    Decision(isForced || isWorth, s"reduction of the scan by $source", Seq(Figure("scan", scan), Figure("keys", keys)), why)
  }

  /** Join a table after the others if its rows are wide and cannot be broadcast, so that each join before would shuffle them. */
  def joinLast(width: Int, table: BigInt, limit: BigInt, isForced: Boolean): Decision[Boolean] = {
    val figures = Seq(Figure("width", width), Figure("estimated", table), Figure("broadcast limit", limit))
    Decision(isForced || (width >= WideBytes && table > limit), "join after the others", figures,
      if (isForced) "join.order=always" else "the query groups by its key")
  }

  /** Prune partitions by the keys of a join's broadcast; without one, only if that pays too. */
  def pruning(hasBroadcast: Boolean, paysOnlyWithBroadcast: Boolean): Decision[Boolean] = {
    val why =
      if (hasBroadcast) "a join broadcasts the keys"
      else if (paysOnlyWithBroadcast) "no join broadcasts the keys" else "a subquery computes the keys"
    Decision(hasBroadcast || !paysOnlyWithBroadcast, "dynamic pruning of partitions", Nil, why)
  }

  /** Sort in one partition, which merges the sorted rows of all senders, if they are few; more rows go to ranges. */
  def gather(rows: BigInt, limit: Long): Decision[Boolean] =
    Decision(rows <= limit, "gathering in one partition", Seq(Figure("estimated", rows), Figure("limit", limit)))

  private def outweighs(large: BigInt, small: BigInt): Boolean = large >= small * LargeFactor

  private def name(side: BuildSide): String = if (side == BuildLeft) "left" else "right"
}
