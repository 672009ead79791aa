package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.physical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive._
import org.apache.spark.sql.execution.aggregate.{BaseAggregateExec, SortAggregateExec}
import org.apache.spark.sql.execution.exchange.{BroadcastExchangeExec, ReusedExchangeExec, ShuffleExchangeExec}
import org.apache.spark.sql.execution.joins.SortMergeJoinExec

/** Query-stage preparation: convert the whole plan (AQE on). */
case class StagePreparation(session: SparkSession) extends Rule[SparkPlan] {
  override def apply(plan: SparkPlan): SparkPlan = Conversion.ifEnabled(plan)(new Conversion(conf, isAdaptive = true).apply(_))
}

/** Columnar rule: fuse; with AQE off, convert first. */
case class ColumnarHook(session: SparkSession) extends ColumnarRule {
  override def preColumnarTransitions: Rule[SparkPlan] = new Rule[SparkPlan] {
    override def apply(plan: SparkPlan): SparkPlan = {
      val converted =
        if (Conversion.isDecided(plan)) plan
        else Conversion.ifEnabled(plan)(new Conversion(conf, isAdaptive = false).apply(_))
      Fusion(converted)
    }
  }
}

object Conversion {
  /** Why an operator stayed in Spark. */
  val Reason: TreeNodeTag[String] = TreeNodeTag[String]("pysparkpipeline.reason")

  /** Marks what conversion has looked at. */
  private val Decided: TreeNodeTag[Boolean] = TreeNodeTag[Boolean]("pysparkpipeline.decided")

  /** Expressions that read what Spark's scan leaves in a thread-local of its task. */
  private val FileNames = Set("InputFileName", "InputFileBlockStart", "InputFileBlockLength")

  def isDecided(plan: SparkPlan): Boolean = plan.exists(_.getTagValue(Decided).isDefined)

  def decide(plan: SparkPlan): Unit = plan.setTagValue(Decided, true)

  def ifEnabled(plan: SparkPlan)(convert: SparkPlan => SparkPlan): SparkPlan = {
    val conf = plan.conf
    Settings.givenOptions(conf) // raises for what is no option
    if (!Settings.flag(conf, "enabled")) plan
    else PythonProbe.reportedMissing match {
      case Some(what) if Settings.flag(conf, "strict") =>
        throw new IllegalStateException(s"pyspark_pipeline cannot run: $what (${Settings.Strict}=true)")
      case Some(what) =>
        plan.setTagValue(Reason, what)
        plan
      case None => convert(plan)
    }
  }
}

/**
 * Decides, bottom-up, which operators move, then takes back what would not win.
 *
 *  1. Unwrap what an earlier pass (AQE re-plans) wrapped, and decide again.
 *  2. Wrap each operator that the engine supports and whose inputs are in the engine already, and each
 *     exchange above one. A reason is left on every node that caused a decline. Sort-merge joins and sorted
 *     aggregations become hash operators and lose their sorts, as windows do, which sort themselves; a small global
 *     sort gets an ordered exchange.
 *  3. Aggregates move together: a final one whose partial one stayed stays too, and the other way round.
 *  4. The cost rule takes back connected regions whose work does not pay for their transitions.
 */
class Conversion(conf: org.apache.spark.sql.internal.SQLConf, isAdaptive: Boolean) {

  private val support = new Support(Settings.flag(conf, "allowDifferences"))
  private val costOn = Settings.flag(conf, "cost.enabled")
  private val jvmInput = Settings.text(conf, "jvmInput")
  private val minScanBytes = Settings.number(conf, "cost.minScanBytes")
  private val gatherBytes = Settings.number(conf, "sort.gatherBytes")
  private val defers = isAdaptive && conf.exchangeReuseEnabled && BroadcastStrategy.mostBytes(conf) > 0
  private var readsFileName = false

  def apply(plan: SparkPlan): SparkPlan = {
    val unwrapped = DynamicPruning.planned(Unwrapping.whole(plan))
    readsFileName = unwrapped.exists(_.expressions.exists(_.exists(e => Conversion.FileNames(ExpressionJson.name(e)))))
    unwrapped.foreach(n => n.unsetTagValue(Conversion.Reason))
    var wrapped = SortedAggregates.restoreOrdering(wrap(unwrapped, Sorts.areLeftOut(unwrapped)))
    var again = true
    while (again) {
      val next = Aggregates.together(wrapped)
      again = !(next eq wrapped)
      wrapped = next
    }
    val kept = if (costOn) new CostRule(minScanBytes).apply(wrapped) else wrapped
    val result = if (defers) Deferral(kept) else kept
    result.foreach(Conversion.decide)
    Places.mark(result)
    result
  }

  /** `ordered` says whether something above may rely on the order of the rows. */
  private def wrap(plan: SparkPlan, ordered: Boolean): SparkPlan = plan match {
    case a: SortAggregateExec => wrapSorted(a, ordered)
    case j: SortMergeJoinExec => wrapJoin(j, ordered)
    case w if Windows.isWindow(w) => wrapWindow(w, ordered)
    case s: SortExec if s.global => wrapSort(s)
    case t: TakeOrderedAndProjectExec => wrapTop(t)
    case _ =>
      val passed = ordered && !SortedAggregates.forgetsOrder(plan)
      decided(plan.mapChildren(wrap(_, passed)))
  }

  private def decided(plan: SparkPlan): SparkPlan = declined(plan) match {
    case None => Wrapping(withBroadcasts(plan))
    case Some(reason) =>
      if (reason.nonEmpty) plan.setTagValue(Conversion.Reason, reason)
      plan
  }

  /** A join that moves takes the broadcasts below it along; rows that the JVM makes for them become chunks there. */
  private def withBroadcasts(plan: SparkPlan): SparkPlan = plan.mapChildren {
    case e: BroadcastExchangeExec => Wrapping(e)
    case child => child
  }

  /** A sorted aggregation becomes a hash aggregation and loses the sort below it. */
  private def wrapSorted(a: SortAggregateExec, ordered: Boolean): SparkPlan = {
    val bare = SortedAggregates.withoutSort(a)
    val moved = bare.mapChildren(wrap(_, ordered = false))
    decided(moved) match {
      case op: PipelineOperatorExec => if (ordered) SortedAggregates.sortAbove(op, a) else op
      case stayed: SortAggregateExec => SortedAggregates.withSort(stayed)
      case other => other
    }
  }

  /** A sort-merge join becomes a hash join and loses the sorts below it. */
  private def wrapJoin(j: SortMergeJoinExec, ordered: Boolean): SparkPlan = {
    val bare = Joins.hashed(j)
    decided(bare.mapChildren(wrap(_, ordered = false))) match {
      case op: PipelineOperatorExec => if (ordered) SortedAggregates.sortAbove(op, j) else op
      case stayed => Joins.planned(stayed)
    }
  }

  /** A window loses the sort below it: it sorts itself. */
  private def wrapWindow(w: SparkPlan, ordered: Boolean): SparkPlan =
    decided(Windows.unsorted(w).mapChildren(wrap(_, ordered = false))) match {
      case op: PipelineOperatorExec => if (ordered) SortedAggregates.sortAbove(op, w) else op
      case stayed => Sorts.supplied(stayed)
    }

  /** A global sort that moves takes an ordered exchange where there is little to sort. */
  private def wrapSort(s: SortExec): SparkPlan = decided(s.mapChildren(wrap(_, ordered = false))) match {
    case op @ PipelineOperatorExec(sort: SortExec) =>
      Sorts.gathered(sort, gatherBytes).fold[SparkPlan](op)(single => op.withNewChildren(Seq(single)))
    case stayed => stayed
  }

  private def wrapTop(t: TakeOrderedAndProjectExec): SparkPlan =
    decided(t.mapChildren(wrap(_, ordered = false))) match {
      case PipelineOperatorExec(top: TakeOrderedAndProjectExec) => PipelineTakeOrderedExec.over(top, top.child)
      case stayed => stayed
    }

  /** None: move it. Some(""): stays, and is not the cause. Some(reason): stays because of this. */
  private def declined(plan: SparkPlan): Option[String] = plan match {
    case _: QueryStageExec | _: ReusedExchangeExec | _: PipelineShuffleExchangeExec | _: AdaptiveSparkPlanExec |
        _: PipelineBroadcastExchangeExec | _: AQEShuffleReadExec | _: InputAdapter | _: WholeStageCodegenExec => Some("")
    case _: FileSourceScanExec if readsFileName =>
      Some("the query asks for the name of the file a row comes from, which only Spark's own scan tells")
    case scan: FileSourceScanExec => ScanSupport.reason(scan, support)
    case e: ShuffleExchangeExec => exchangeReason(e)
    case e: BroadcastExchangeExec => if (Wrapping.isInEngine(e.child)) None else Some("")
    case op if Manifest.operators.contains(op.getClass.getSimpleName) =>
      operatorReason(op).orElse(inputReason(op))
    case op => Some(s"${op.nodeName.trim} is not supported")
  }

  private def operatorReason(op: SparkPlan): Option[String] = {
    val shape = op match {
      case a: BaseAggregateExec if a.isStreaming => Some("streaming aggregation is not supported")
      case l: BaseLimitExec if l.child.outputOrdering.nonEmpty => Some("the first of sorted rows are not supported")
      case s: SortExec => Sorts.reason(s)
      case other => Joins.reason(other)
    }
    shape
      .orElse(support.first(Windows.expressions(op)))
      .orElse(op.output.flatMap(a => support.typeReason(a.dataType, s"column ${a.name}")).headOption)
      .orElse(op.children.flatMap(_.output).flatMap(a =>
        support.typeReason(a.dataType, s"input column ${a.name}")).headOption)
  }

  private def exchangeReason(e: ShuffleExchangeExec): Option[String] = e.outputPartitioning match {
    case _ if !Wrapping.isInEngine(e.child) => Some("")
    case h: HashPartitioning => support.first(h.expressions)
    case r: RangePartitioning => support.first(r.ordering)
    case SinglePartition | _: RoundRobinPartitioning => None
    case other => Some(s"${other.getClass.getSimpleName} exchange is not supported")
  }

  private def inputReason(op: SparkPlan): Option[String] = {
    val (broadcasts, outside) = op.children.filterNot(Wrapping.isInEngine)
      .partition(_.outputPartitioning.isInstanceOf[BroadcastPartitioning])
    if (broadcasts.exists(!_.isInstanceOf[BroadcastExchangeExec])) Some("its broadcast side stayed in Spark")
    else if (broadcasts.nonEmpty && broadcasts.length == op.children.length) Some("nothing but broadcasts below it")
    else if (outside.isEmpty || jvmInput == "always" || (jvmInput == "auto" && !costOn)) None
    else Some(s"its input comes as rows from ${outside.map(_.nodeName.trim).mkString(", ")}")
  }
}

object Wrapping {
  /** Whether `plan` gives chunks. */
  def isInEngine(plan: SparkPlan): Boolean = Exchanges.behind(plan) match {
    case _: PipelineOperatorExec | _: PipelineShuffleExchangeExec | _: PipelineBroadcastExchangeExec |
        _: PipelineFragmentExec => true
    case _ => false
  }

  def apply(plan: SparkPlan): SparkPlan = {
    val wrapped = plan match {
      case e: ShuffleExchangeExec =>
        PipelineShuffleExchangeExec(e.outputPartitioning, e.child, e.shuffleOrigin, e.advisoryPartitionSize)
      case e: BroadcastExchangeExec => PipelineBroadcastExchangeExec(e.mode, e.child)
      case other => PipelineOperatorExec(other)
    }
    wrapped.copyTagsFrom(plan)
    wrapped
  }
}

object Unwrapping {
  /** All that is wrapped, down to the stages, as Spark planned it. */
  def whole(plan: SparkPlan): SparkPlan = plan match {
    case op: PipelineOperatorExec => whole(operator(op))
    case fragment: PipelineFragmentExec => whole(fragment.root)
    case wait: PipelineWaitExec => whole(wait.child)
    case top: PipelineTakeOrderedExec => whole(PipelineTakeOrderedExec.planned(top))
    case other => exchange(other.mapChildren(whole))
  }

  /** A converted exchange as Spark's own; anything else unchanged. */
  def exchange(plan: SparkPlan): SparkPlan = plan match {
    case e: PipelineShuffleExchangeExec =>
      tagged(e, ShuffleExchangeExec(e.outputPartitioning, e.child, e.shuffleOrigin, e.advisoryPartitionSize))
    case e: PipelineBroadcastExchangeExec => tagged(e, BroadcastExchangeExec(e.mode, e.child))
    case other => other
  }

  private def tagged(from: SparkPlan, plain: SparkPlan): SparkPlan = {
    plain.copyTagsFrom(from)
    plain
  }

  /** Take the wrapped operators and exchanges connected with `plan` back, leaving `reason` on the top one. */
  def region(plan: SparkPlan, reason: String): SparkPlan = {
    val plain = open(plan)
    plain.setTagValue(Conversion.Reason, reason)
    plain
  }

  /** The operator inside, as Spark can run it. */
  def operator(op: PipelineOperatorExec): SparkPlan = Links.move(op, op.original match {
    case a: SortAggregateExec => SortedAggregates.withSort(a)
    case w if Windows.isWindow(w) => Sorts.supplied(w)
    case other => Joins.planned(other)
  })

  private def open(plan: SparkPlan): SparkPlan = plan match {
    case op: PipelineOperatorExec => operator(op).mapChildren(open)
    case e @ (_: PipelineShuffleExchangeExec | _: PipelineBroadcastExchangeExec) => exchange(e.mapChildren(open))
    case other => other
  }
}

/** Numbers fragments and pipelines of a converted plan, for explain before execution. */
object Places {
  def mark(plan: SparkPlan): Unit = {
    var fragments = 0
    def visit(node: SparkPlan, inside: Option[Int]): Unit = node match {
      case op: PipelineOperatorExec =>
        val fragment = inside.getOrElse { fragments += 1; fragments }
        op.setTagValue(PipelineOperatorExec.Place, s"fragment $fragment")
        op.children.foreach(visit(_, Some(fragment)))
      case other => other.children.foreach(visit(_, None))
    }
    visit(plan, None)
  }
}
