package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.plans.physical._
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive._
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec
import org.apache.spark.sql.execution.command.{DataWritingCommandExec, ExecutedCommandExec}
import org.apache.spark.sql.execution.datasources.WriteFilesExec
import org.apache.spark.sql.execution.datasources.v2.V2CommandExec
import org.apache.spark.sql.execution.exchange.{BroadcastExchangeExec, ReusedExchangeExec, ShuffleExchangeExec}
import org.apache.spark.sql.internal.SQLConf

object Conversion {
  /** The reason why an operator stayed in Spark. */
  val Reason: TreeNodeTag[String] = TreeNodeTag[String]("pysparkpipeline.reason")

  /** The reason why every operator of a plan stayed in Spark; on its root. */
  val WholeReason: TreeNodeTag[String] = TreeNodeTag[String]("pysparkpipeline.wholeReason")

  /** Marks operators that conversion has visited. */
  private val Decided: TreeNodeTag[Boolean] = TreeNodeTag[Boolean]("pysparkpipeline.decided")

  def isDecided(plan: SparkPlan): Boolean = plan.exists(_.getTagValue(Decided).isDefined)

  def decide(plan: SparkPlan): Unit = plan.setTagValue(Decided, true)

  def ifEnabled(plan: SparkPlan)(convert: SparkPlan => SparkPlan): SparkPlan = {
    val conf = plan.conf
    if (isCommand(plan) || !Settings.flag(conf, "enabled") || !Defects.guard(conf, _ => false)(plan.exists(isCandidate))) plan
    else Settings.checked(conf, Readiness.obstacle match {
      case Some(reason) if Settings.flag(conf, "strict") =>
        throw new IllegalStateException(s"pyspark_pipeline cannot run: $reason (${Settings.Strict}=true)")
      case Some(reason) => stays(plan, s"pyspark_pipeline cannot run: $reason")
      case None => guard(plan)(convert(plan))
    })
  }

  /** Return the result of `step`, which plans `plan`; if it fails, return the plan as Spark planned it. */
  def guard(plan: SparkPlan)(step: => SparkPlan): SparkPlan =
    Defects.guard(plan.conf, e => stays(Revert.whole(plan), s"pyspark_pipeline failed while planning: $e"))(step)

  private def stays(plan: SparkPlan, reason: String): SparkPlan = {
    plan.setTagValue(WholeReason, reason)
    plan
  }

  /** Return whether `plan` is only a command (SET, RESET) or its result: options do not apply to it. */
  private def isCommand(plan: SparkPlan): Boolean = plan match {
    case _: ExecutedCommandExec | _: CommandResultExec | _: V2CommandExec => plan.children.isEmpty
    case _ => false
  }

  /** Return whether `plan` may be converted; if not, the query need not wait until fragments can run. */
  private def isCandidate(plan: SparkPlan): Boolean = plan match {
    case _: PipelineOperatorExec | _: PipelineFragmentExec | _: PipelineShuffleExchangeExec |
        _: PipelineBroadcastExchangeExec | _: PipelineWriteFilesExec | _: QueryStageExec => true
    case _: WriteFilesExec => false // without an input in the engine it stays in Spark
    case op => OperatorRules.isSupported(op)
  }
}

/**
 * Converts the supported operators of a plan, bottom-up, then reverts those that would not be faster. The rule of each
 * operator ([[OperatorRule]]) decides how.
 *
 *  1. Revert the operators that an earlier pass converted (AQE replans), and decide again.
 *  2. Convert each operator that the engine supports if its inputs are in the engine, and each exchange above a converted
 *     operator. Every node that prevents a conversion gets a reason. Sort-merge joins and sorted aggregations become hash
 *     operators and lose their sorts; windows sort their input themselves and lose theirs; a small global sort gets an
 *     ordered exchange.
 *  3. Keep the stages of an aggregation together: if one stage stayed in Spark, revert the others.
 *  4. Revert connected regions whose work does not pay for their transitions (cost rule).
 *
 * `isCached`: Spark caches the result of the plan.
 */
class Conversion(conf: SQLConf, isAdaptive: Boolean, isCached: Boolean = false) {

  private val excluded = Exclusions.of(conf)
  private val model = new CostModel(conf)
  private val support = new Support(Settings.flag(conf, "allowDifferences"), excluded)
  private val usesJvm = Settings.flag(conf, "jvmExpressions")
  /** The support of operators whose expressions Spark can evaluate: what it computes faster is left to it. */
  private val priced = new Support(Settings.flag(conf, "allowDifferences"), excluded, leavesSlower = usesJvm && model.isOn)
  private val jvm = if (usesJvm) Some(new JvmExpressions(priced)) else None
  private val delaysStages = isAdaptive && conf.exchangeReuseEnabled && model.broadcastLimit > 0

  def apply(plan: SparkPlan): SparkPlan = {
    val planned = Revert.whole(plan)
    planned.foreach { node =>
      node.unsetTagValue(Conversion.Reason)
      Decisions.clear(node)
    }
    val reverted = FileColumns.prepare(DynamicPruning.plan(planned))
    FileColumns.mark(reverted)
    Placement.mark(reverted)
    JoinedSplits.mark(reverted)
    Observations.mark(reverted)
    UnreadOrder.mark(reverted)
    var converted = RowOrder.restore(convert(reverted, RowOrder.omitsSorts(reverted)))
    var again = true
    while (again) {
      val next = AggregateStages.keepTogether(converted)
      again = !(next eq converted)
      converted = next
    }
    val kept = if (model.isOn) new CostRule(model, isCached, withoutJvmTop).apply(converted) else converted
    val result = MergingSessionsRule.rejoined(if (delaysStages) StageOrdering(kept) else kept)
    result.foreach { node =>
      Conversion.decide(node)
      Decisions.addLogical(node)
    }
    FragmentNumbers.assign(result)
    result
  }

  /** `ordered` is true if an operator above may rely on the order of the rows. */
  private def convert(plan: SparkPlan, ordered: Boolean): SparkPlan = plan match {
    case below if FileColumns.isBelow(below) => keep(below)
    case kept if reasonOfPlanned(kept).isDefined => decided(kept.mapChildren(convert(_, ordered = false)))
    case _ => convertByRule(plan, ordered)
  }

  private def convertByRule(plan: SparkPlan, ordered: Boolean): SparkPlan = {
    val rule = OperatorRules.of(plan)
    val isInputOrderRead = ordered && rule.keepsInputOrder(plan)
    decided(rule.prepare(plan).mapChildren(convert(_, isInputOrderRead))) match {
      case op: PipelineOperatorExec => rule.finish(op, plan, ordered, conf)
      case stayed => OperatorRules.of(stayed).revert(stayed)
    }
  }

  /** Keep an operator below a function that reads the name of a file. */
  private def keep(plan: SparkPlan): SparkPlan = {
    val kept = plan.mapChildren(convert(_, ordered = true))
    val reason = if (kept.isInstanceOf[FileSourceScanExec]) Some(FileColumns.Reason) else support.first(kept.expressions)
    reason.foreach(kept.setTagValue(Conversion.Reason, _))
    kept
  }

  /** Convert `plan`, whose inputs are converted, or set the reason why it stays in Spark. */
  private def decided(plan: SparkPlan): SparkPlan = reasonToKeep(plan) match {
    case None => jvm.flatMap(_.slowerReason(plan)).flatMap(withJvmExpressions(plan, _)).getOrElse(Convert(withBroadcasts(plan)))
    case Some(reason) => withJvmExpressions(plan, reason).getOrElse {
      split(plan).map(two => decided(two.mapChildren(decided))).getOrElse(stays(plan, reason))
    }
  }

  private def stays(plan: SparkPlan, reason: String): SparkPlan = {
    if (reason.nonEmpty) plan.setTagValue(Conversion.Reason, reason)
    plan
  }

  /** Return `plan` converted, if Spark can evaluate for it all expressions that the engine does not support. */
  private def withJvmExpressions(plan: SparkPlan, reason: String): Option[SparkPlan] =
    jvm.filter(_ => plan.children.exists(canExtend)).flatMap(_.within(plan)).filter(isWorth)
      .filter(reasonToKeep(_).isEmpty).map { changed =>
      Decisions.add(changed, Decision(true, "evaluation of expressions by Spark, on chunks", Nil, reason))
      Convert(changed)
    }

  private def isWorth(changed: SparkPlan): Boolean =
    !model.isOn || JvmExpressions.countCalls(changed) <= CostModel.JvmCalls

  /** Leave the top operators of a region to Spark whose expressions Spark evaluates, and whose rows Spark reads. */
  private def withoutJvmTop(region: SparkPlan): SparkPlan = region match {
    case op @ PipelineOperatorExec(_: ProjectExec | _: FilterExec) if JvmExpressions.calls(op.original).nonEmpty =>
      val plain = Revert.operator(op)
      Decisions.clear(plain)
      val reason = reasonToKeep(plain).orElse(jvm.flatMap(_.slowerReason(plain))).getOrElse("")
      stays(split(plain).map(_.mapChildren(Convert(_))).getOrElse(plain), reason).mapChildren(withoutJvmTop)
    case other => other
  }

  /** Return `plan`, which stays in Spark, with the part of its work below it that the engine can do on its inputs. */
  private def split(plan: SparkPlan): Option[SparkPlan] =
    if (plan.children.isEmpty || !plan.children.forall(canExtend)) None
    else OperatorRules.of(plan).split(plan, priced)
      .filter(_.children.forall(reasonToKeep(_).isEmpty)) // the lower part may consist of excluded expressions again

  /** Return whether another operator of the engine can read `plan`. */
  private def canExtend(plan: SparkPlan): Boolean =
    Convert.isInEngine(plan) && plan.output.forall(a => Support.isHeld(a.dataType))

  /** Convert the broadcasts below a converted join; the JVM encodes the rows of a child that stayed in Spark. */
  private def withBroadcasts(plan: SparkPlan): SparkPlan = plan.mapChildren {
    case e: BroadcastExchangeExec => Convert(e)
    case child => child
  }

  /** Return None to convert `plan`, Some("") to keep it because of another node, Some(reason) to keep it for `reason`. */
  private def reasonToKeep(plan: SparkPlan): Option[String] = reasonOfPlanned(plan).orElse(plan match {
    case _: QueryStageExec | _: ReusedExchangeExec | _: PipelineShuffleExchangeExec | _: AdaptiveSparkPlanExec |
        _: PipelineBroadcastExchangeExec | _: AQEShuffleReadExec | _: InputAdapter | _: WholeStageCodegenExec |
        _: DataWritingCommandExec => Some("")
    case limit: CollectLimitExec if Convert.isInEngine(limit.child) => Some("") // its tasks' part is a limit of the fragment
    case scan: InMemoryTableScanExec => CachedScans.reason(scan).orElse(Some(""))
    case e: ShuffleExchangeExec => exchangeReason(e)
    case e: BroadcastExchangeExec => if (canExtend(e.child)) None else Some("")
    case op if OperatorRules.isSupported(op) => OperatorRules.of(op).reason(op, support).orElse(inputReason(op))
    case op => SparkOnlyRule.limitation(op)
  })

  /** Return the reason against an operator as Spark planned it, regardless of its rule. */
  private def reasonOfPlanned(plan: SparkPlan): Option[String] =
    Placement.reason(plan, isAdaptive).orElse(Observations.reason(plan)).orElse(excluded.reason(plan))

  private def exchangeReason(e: ShuffleExchangeExec): Option[String] = e.outputPartitioning match {
    case _ if !Convert.isInEngine(e.child) => Some("")
    case _ if e.child.output.exists(a => !Support.isHeld(a.dataType)) => support.firstHeldReason(e.child.output, "column")
    case h: HashPartitioning => support.keyReason(h.expressions)
    case r: RangePartitioning => support.first(r.ordering)
    case SinglePartition | _: RoundRobinPartitioning => None
    case other => Some(s"${other.getClass.getSimpleName} exchange is not supported")
  }

  private def inputReason(op: SparkPlan): Option[String] = {
    val (broadcasts, outside) = op.children.filterNot(Convert.isInEngine)
      .partition(_.outputPartitioning.isInstanceOf[BroadcastPartitioning])
    if (broadcasts.exists(!_.isInstanceOf[BroadcastExchangeExec])) Some("its broadcast side stayed in Spark")
    else if (broadcasts.nonEmpty && broadcasts.length == op.children.length) Some("nothing but broadcasts below it")
    else if (outside.isEmpty) None
    else {
      val decision = Policies.jvmInput(model.jvmInput, model.isOn, outside.map(_.nodeName.trim))
      if (decision.choice) Decisions.add(op, decision)
      if (decision.choice) None else Some(decision.why)
    }
  }
}
