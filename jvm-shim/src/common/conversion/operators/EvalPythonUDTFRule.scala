package org.apache.spark.sql.pysparkpipeline

import java.util.Base64

import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.api.python.{PythonEvalType, PythonFunction}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.{ProjectExec, SparkPlan}
import org.apache.spark.sql.execution.python.{ArrowEvalPythonUDTFExec, BatchEvalPythonUDTFExec, EvalPythonUDTFExec}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{DataType, StructType}

/** Table functions over Arrow batches: `udtf(useArrow=True)` and `arrow_udtf`. */
object ArrowEvalPythonUDTFRule extends EvalPythonUDTFRule[ArrowEvalPythonUDTFExec] {

  private val EvalTypes = Set(PythonEvalType.SQL_ARROW_TABLE_UDF, PythonEvalType.SQL_ARROW_UDTF)

  override def limitation(op: ArrowEvalPythonUDTFExec): Option[String] = {
    def other(what: String) = PythonFunctions.other(Seq(op.udtf), what)
    if (!EvalTypes.contains(op.evalType)) other("of this form are not supported")
    else if (op.evalType == PythonEvalType.SQL_ARROW_UDTF && op.requiredChildOutput.nonEmpty)
      other("of batches joined with rows are not supported")
    else PythonFunctions.outputLimitation(op, Seq(op.udtf))
      .orElse(super.limitation(op))
      .orElse(PythonFunctions.arrowLimitation(op, Seq(op.udtf)))
  }

  override protected def withInput(op: ArrowEvalPythonUDTFExec, udtf: PythonUDTF, child: SparkPlan): ArrowEvalPythonUDTFExec =
    op.copy(udtf = udtf, child = child)

  override protected def evalType(op: ArrowEvalPythonUDTFExec): Int = op.evalType

  override protected def maxRows(op: ArrowEvalPythonUDTFExec): Int = op.conf.arrowMaxRecordsPerBatch
}

/** Table functions of rows: `udtf`. The size of a batch does not reach them. */
object BatchEvalPythonUDTFRule extends EvalPythonUDTFRule[BatchEvalPythonUDTFExec] {

  private val MaxRows = 1000

  override def limitation(op: BatchEvalPythonUDTFExec): Option[String] = super.limitation(op)
    .orElse(PythonFunctions.pickleLimitation(op, Seq(op.udtf)))
    .orElse(PythonFunctions.limitation(op, Seq(op.udtf)))

  override protected def withInput(op: BatchEvalPythonUDTFExec, udtf: PythonUDTF, child: SparkPlan): BatchEvalPythonUDTFExec =
    op.copy(udtf = udtf, child = child)

  override protected def evalType(op: BatchEvalPythonUDTFExec): Int = PythonEvalType.SQL_TABLE_UDF

  override protected def maxRows(op: BatchEvalPythonUDTFExec): Int = MaxRows
}

/**
 * Joins each row with those that a Python table function returns for it. A row of a table argument is a struct, which
 * Spark computes in a Project below; here the struct becomes an argument of the function.
 */
abstract class EvalPythonUDTFRule[T <: SparkPlan with EvalPythonUDTFExec] extends OperatorRule[T] {
  import Json._

  /** The function and the Project below as Spark planned them, before the struct became an argument. */
  private val Merged: TreeNodeTag[(PythonUDTF, ProjectExec)] =
    TreeNodeTag[(PythonUDTF, ProjectExec)]("pysparkpipeline.tableArgument")

  /** Return a copy of `op`, without its tags. */
  protected def withInput(op: T, udtf: PythonUDTF, child: SparkPlan): T

  protected def evalType(op: T): Int

  protected def maxRows(op: T): Int

  override def prepare(op: T): SparkPlan = op.child match {
    case project @ ProjectExec(columns, below) if op.requiredChildOutput.isEmpty && columns.forall(_.deterministic) =>
      val values = AttributeMap(columns.collect { case alias: Alias => alias.toAttribute -> alias.child })
      val inlined = op.udtf.transform { case a: Attribute => values.getOrElse(a, a) }.asInstanceOf[PythonUDTF]
      val merged = withInput(op, inlined, below)
      if (limitation(merged).isDefined) op
      else {
        merged.copyTagsFrom(op)
        merged.setTagValue(Merged, (op.udtf, project))
        LogicalLinks.moveUp(below, project, op)
        merged
      }
    case _ => op
  }

  override def revert(op: T): SparkPlan = op.getTagValue(Merged).fold[SparkPlan](op) { case (udtf, project) =>
    val planned = withInput(op, udtf, project.withNewChildren(Seq(op.child)))
    planned.copyTagsFrom(op)
    planned.unsetTagValue(Merged)
    planned
  }

  override def limitation(op: T): Option[String] = {
    def other(what: String) = PythonFunctions.other(Seq(op.udtf), what)
    val structs = arguments(op).map(_.dataType).collect { case s: StructType => s }
    val takesTable = op.udtf.tableArguments.exists(_.contains(true))
    val types: Seq[DataType] = (arguments(op) ++ op.resultAttrs).map(_.dataType)
    if (takesTable && PipelineShuffleExchangeExec.drivers(op.session.sparkContext.conf) > 1)
      other("of tables are not supported with spark.task.cpus above 1: the rows of a table have an order")
    else if (structs.exists(s => s.fieldNames.distinct.length < s.length)) other("over columns of one name are not supported")
    else if (types.exists(PythonFunctions.isUnsupported)) other(PythonFunctions.UnsupportedTypes)
    else PythonFunctions.resultLimitation(Seq(op.udtf), op.resultAttrs.map(_.dataType))
  }

  private def arguments(op: T): Seq[Expression] = PythonFunctions.arguments(Seq(op.udtf))

  override def expressions(op: T): Seq[Expression] = Support.withoutCarried(arguments(op).flatMap {
    case struct: CreateNamedStruct if struct.nameExprs.forall(_.isInstanceOf[Literal]) => struct.valExprs
    case other => Seq(other)
  })

  /** Spark too would send the rows to Python. */
  override def isHeavy(op: T): Boolean = true

  /** One driver runs the function, once a partition. */
  override def kind(op: T): NodeKind = NodeKind.PartitionDependent

  override def pythonFunctions(op: T): Seq[PythonFunction] = PythonFunctions.of(Seq(op.udtf))

  override def describe(op: T, node: ObjectNode, plan: PlanJson): Unit = {
    PythonFunctions.describe(Seq(op.udtf), evalType(op), maxRows(op), node, plan)
    val read = arguments(op)
    val tables = op.udtf.children.zip(op.udtf.tableArguments.getOrElse(op.udtf.children.map(_ => false))).collect {
      case (NamedArgumentExpression(_, value), true) => read.indexOf(value)
      case (value, true) => read.indexOf(value)
    }
    val table = obj().put("result", op.udtf.elementSchema.json)
    op.udtf.pickledAnalyzeResult.foreach(bytes => table.put("analyzed", Base64.getEncoder.encodeToString(bytes)))
    val keys = table.putArray("keys")
    op.udtf.pythonUDTFPartitionColumnIndexes.foreach(_.partitionChildIndexes.foreach(keys.add(_)))
    val offsets = table.putArray("tables")
    tables.foreach(offsets.add(_))
    node.set[ObjectNode]("table", table)
    node.set[ObjectNode]("kept", arr(op.requiredChildOutput.map(a => plan.expressions.write(a))))
  }

  override def label(op: T): String = s"[${op.udtf.name}]"
}
