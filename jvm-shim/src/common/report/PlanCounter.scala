package org.apache.spark.sql.pysparkpipeline

import scala.collection.mutable
import scala.collection.mutable.ArrayBuffer

import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive._
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec
import org.apache.spark.sql.execution.command.{DataWritingCommandExec, ExecutedCommandExec}
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec
import org.apache.spark.sql.execution.joins.BaseJoinExec

/** Counts the operators, transitions and fragments of a plan. */
private class PlanCounter {
  var operators = 0
  var converted = 0
  var transitions = 0
  val reasons = ArrayBuffer.empty[(String, String)]
  val decisions = ArrayBuffer.empty[(String, String)]
  val fragments = ArrayBuffer.empty[PipelineFragmentExec]
  val cached = ArrayBuffer.empty[SparkPlan]
  private val exchanges = mutable.Set.empty[Int]

  /** Count `plan`; `insideEngine` is true if its consumer reads chunks. */
  def visit(plan: SparkPlan, insideEngine: Boolean): Unit = {
    reason(plan)
    plan match {
      case a: AdaptiveSparkPlanExec => visit(Fusion(a.executedPlan), insideEngine)
      case s: QueryStageExec => visit(s.plan, insideEngine)
      case reused: ReusedExchangeExec => if (Convert.isInEngine(reused)) {
        if (!insideEngine) transitions += 1
        visit(reused.child, insideEngine = true) // AQE may keep only this reference to the stage that a join waited for
      }
      case f: PipelineFragmentExec =>
        fragments += f
        val ops = Fusion.operators(f.root)
        add(ops.length, ops.length)
        ops.foreach { op =>
          decided(op)
          subqueries(op.original)
        }
        Fusion.inputs(f.root).foreach { input =>
          if (!Convert.isInEngine(input)) transitions += 1
          visit(input, insideEngine = true)
        }
      case op: PipelineOperatorExec =>
        add(1, 1)
        decided(op)
        subqueries(op.original)
        op.children.foreach { input =>
          if (!Convert.isInEngine(input)) transitions += 1
          visit(input, insideEngine = true)
        }
      case e @ (_: PipelineShuffleExchangeExec | _: PipelineBroadcastExchangeExec) =>
        if (exchanges.add(e.id)) { // several operators may read it
          add(1, 1)
          decided(e)
          visit(e.children.head, insideEngine = true)
        }
      case write: PipelineWriteFilesExec =>
        add(1, 1)
        decided(write)
        if (!Convert.isInEngine(write.child)) transitions += 1
        visit(write.child, insideEngine = true)
      case top: PipelineTakeOrderedExec => // its part in the engine counts for it
        transitions += 1
        visit(top.original.child, insideEngine = false)
      case limit: CollectLimitExec if PlanCounter.endsInEngine(limit.child) => // as above
        transitions += 1
        visit(limit.child, insideEngine = false)
      case _: PipelineText =>
      case w if PlanCounter.isWrapper(w) => w.children.foreach(visit(_, insideEngine))
      case other =>
        other match {
          case scan: InMemoryTableScanExec =>
            cached += scan.relation.cachedPlan
            add(1, if (insideEngine && CachedScans.isRead(scan)) 1 else 0)
          case _ => add(1, 0)
        }
        subqueries(other)
        other.children.foreach { child =>
          if (PlanCounter.endsInEngine(child)) transitions += 1
          visit(child, insideEngine = false)
        }
    }
  }

  private def add(all: Int, moved: Int): Unit = {
    operators += all
    converted += moved
  }

  private def subqueries(plan: SparkPlan): Unit =
    plan.expressions.flatMap(ExpressionJson.subqueries).foreach(s => s.plan match {
      case r: ReusedSubqueryExec =>
      case q => q.children.foreach { child =>
        if (PlanCounter.endsInEngine(child)) transitions += 1
        visit(child, insideEngine = false)
      }
    })

  private def decided(plan: SparkPlan): Unit =
    Decisions.of(plan).foreach(decision => decisions += (PlanCounter.subject(plan) -> decision.toString))

  private def reason(plan: SparkPlan): Unit = {
    plan.getTagValue(Conversion.WholeReason).foreach(why => reasons += ("every operator" -> why))
    plan.getTagValue(Conversion.Reason).foreach(why => reasons += (plan.nodeName.trim -> why))
  }
}

private object PlanCounter {
  def isWrapper(plan: SparkPlan): Boolean = plan match {
    case _: WholeStageCodegenExec | _: InputAdapter | _: AQEShuffleReadExec | _: ColumnarToRowExec |
        _: RowToColumnarExec | _: CommandResultExec | _: ExecutedCommandExec | _: DataWritingCommandExec |
        _: BaseSubqueryExec | _: ResultQueryStageExec => true
    case _ => false
  }

  /** Return the name of a converted node, of a join with its first keys. */
  def subject(plan: SparkPlan): String = plan match {
    case PipelineOperatorExec(join: BaseJoinExec) if join.leftKeys.nonEmpty =>
      val others = if (join.leftKeys.length > 1) s" and ${join.leftKeys.length - 1} more" else ""
      s"${join.nodeName} on ${join.leftKeys.head.sql} = ${join.rightKeys.head.sql}$others"
    case PipelineOperatorExec(operator) => operator.nodeName.trim
    case other => other.nodeName
  }

  /** Return whether the rows of `plan` leave the engine. */
  def endsInEngine(plan: SparkPlan): Boolean = plan match {
    case a: AdaptiveSparkPlanExec => endsInEngine(a.executedPlan)
    case w if isWrapper(w) && w.children.length == 1 => endsInEngine(w.children.head)
    case other => Convert.isInEngine(other)
  }
}
