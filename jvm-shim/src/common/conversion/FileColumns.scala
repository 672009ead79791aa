package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.{CoalesceExec, FileSourceScanExec, FilterExec, LocalTableScanExec, OneRowRelationExec,
  ProjectExec, RangeExec, SampleExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.QueryStageExec
import org.apache.spark.sql.execution.datasources.{FileFormat, PartitionedFile}
import org.apache.spark.sql.execution.exchange.{Exchange, ReusedExchangeExec}
import org.apache.spark.sql.execution.python.EvalPythonExec
import org.apache.spark.unsafe.types.UTF8String

/**
 * Columns of a scan that are the same for all rows of a file split: Spark's `_metadata` of files, and the values of
 * `input_file_name()` and `input_file_block_*()`, which read a thread-local variable that Spark's scan sets row by row.
 *
 * Above a scan, with only operators between that Spark runs row by row (projections, filters, samples, `coalesce`), these
 * functions and the fields of `_metadata` become columns of the scan; so do those in the arguments of Python functions, but
 * not above these, as Spark sends rows to Python in batches. In a stage that reads no files they are constants. Elsewhere
 * an operator of the engine between the scan and such a function would read rows ahead, so all operators from the
 * function down to the scans of its stage stay in Spark.
 */
object FileColumns {
  val Reason = "the query asks for the name of the file a row comes from, which only Spark's own scan tells"

  /** A function of the split of a row: its name as a column, its expression, its value, and that of a task without files. */
  private case class Function(name: String, expression: LeafExpression, value: PartitionedFile => Any, ofNoFile: Literal)

  private val Functions = Seq(
    Function("input_file_name", InputFileName(), _.urlEncodedPath, Literal("")),
    Function("input_file_block_start", InputFileBlockStart(), _.start, Literal(-1L)),
    Function("input_file_block_length", InputFileBlockLength(), _.length, Literal(-1L)))

  private val Below: TreeNodeTag[Boolean] = TreeNodeTag[Boolean]("pysparkpipeline.belowFileName")

  /** Return the columns of `scan` that depend on the split alone; they follow the data and the partition columns. */
  def of(scan: FileSourceScanExec): Seq[Attribute] = scan.fileConstantMetadataColumns

  /** Return whether a column has the place of a split in its file: a file may then be cut only where Spark cuts it. */
  def tellPlace(scan: FileSourceScanExec): Boolean = of(scan).exists(_.name.contains("file_block"))

  /** Return the values of [[of]] for the rows of `file`. */
  def values(scan: FileSourceScanExec, file: PartitionedFile): InternalRow = {
    val known = scan.relation.fileFormat.fileConstantMetadataExtractors
    InternalRow.fromSeq(of(scan).map { column =>
      Functions.find(_.name == column.name).map(_.value).getOrElse(known(column.name))(file) match {
        case text: String => UTF8String.fromString(text)
        case other => other
      }
    })
  }

  /** Return `scan` as Spark can run it: Spark's scan does not know the functions as columns. */
  def revert(scan: FileSourceScanExec): SparkPlan = {
    val (added, output) = scan.output.partition(isFunction)
    if (added.isEmpty) scan
    else {
      val plain = scan.copy(output = output)
      plain.copyTagsFrom(scan)
      val calls = added.flatMap(a => Functions.find(_.name == a.name).map(f => Alias(f.expression, a.name)(exprId = a.exprId)))
      val above = ProjectExec(output ++ calls, plain)
      LogicalLinks.insertAbove(above, plain)
      above.unsetTagValue(Conversion.Reason)
      above
    }
  }

  private def isFunction(column: Attribute): Boolean = column match {
    case FileSourceConstantMetadataAttribute(a) => Functions.exists(_.name == a.name)
    case _ => false
  }

  /** Return `plan` with the functions and the fields of `_metadata` as columns of the scans below. */
  def prepare(plan: SparkPlan): SparkPlan = chain(plan) match {
    case Some((nodes, scan)) if nodes.exists(n => readsIn(n.expressions)) || structIn(nodes.last).isDefined =>
      rewritten(nodes, scan).getOrElse(plan)
    case Some(_) => plan
    case None if readsIn(plan.expressions) && !plan.children.exists(mayReadFiles) => withoutFiles(plan).mapChildren(prepare)
    case None if readsIn(plan.expressions) => plan.mapChildren(prepareOtherStages)
    case None => plan.mapChildren(prepare)
  }

  /** Return whether the stage of `plan` may read files: Spark's variable is then set, else it has its first value. */
  private def mayReadFiles(plan: SparkPlan): Boolean = plan match {
    case _: Exchange | _: ReusedExchangeExec | _: QueryStageExec | _: RangeExec | _: LocalTableScanExec |
        _: OneRowRelationExec => false
    case _ => plan.children.isEmpty || plan.children.exists(mayReadFiles)
  }

  private def withoutFiles(plan: SparkPlan): SparkPlan = plan.transformExpressions {
    case call: LeafExpression if readsIn(Seq(call)) => Functions.find(_.expression == call).get.ofNoFile
  }

  /** Prepare the stages below that of `plan`, all of which stays in Spark. */
  private def prepareOtherStages(plan: SparkPlan): SparkPlan =
    plan.mapChildren(if (plan.isInstanceOf[Exchange]) prepare else prepareOtherStages)

  /** Return the operators from `top` down to a scan, and the scan; Spark runs all of them but `top` row by row. */
  private def chain(top: SparkPlan): Option[(Seq[SparkPlan], FileSourceScanExec)] = top match {
    case _: EvalPythonExec => chainBelow(top)
    case _ => if (isRowByRow(top)) chainBelow(top) else None
  }

  private def chainBelow(top: SparkPlan): Option[(Seq[SparkPlan], FileSourceScanExec)] = top.children.head match {
    case scan: FileSourceScanExec => Some(Seq(top) -> scan)
    case below if isRowByRow(below) => chainBelow(below).map { case (nodes, scan) => (top +: nodes) -> scan }
    case _ => None
  }

  /** Return whether Spark passes each row of the input of `plan` on before it reads the next one. */
  private def isRowByRow(plan: SparkPlan): Boolean = plan match {
    case _: ProjectExec | _: FilterExec | _: SampleExec | _: CoalesceExec => true
    case _ => false
  }

  /** Return the column of `plan` that is `_metadata`, and the columns of the scan in its fields. */
  private def structIn(plan: SparkPlan): Option[(ExprId, Seq[Attribute])] = plan match {
    case ProjectExec(list, _: FileSourceScanExec) => list.collectFirst {
      case a @ Alias(KnownNotNull(s: CreateNamedStruct), FileFormat.METADATA_NAME)
          if s.valExprs.forall(_.isInstanceOf[Attribute]) => a.exprId -> s.valExprs.map(_.asInstanceOf[Attribute])
    }
    case _ => None
  }

  private def rewritten(nodes: Seq[SparkPlan], scan: FileSourceScanExec): Option[SparkPlan] = {
    val struct = structIn(nodes.last)
    val added: Seq[(Function, Attribute)] = Functions.filter(f => nodes.exists(_.expressions.exists(_.exists(_ == f.expression)))).map { f =>
      val metadata = FileSourceConstantMetadataStructField.metadata(f.name)
      f -> AttributeReference(f.name, f.expression.dataType, nullable = false, metadata)()
    }
    val wide = if (added.isEmpty) scan else scan.copy(output = scan.output ++ added.map(_._2))
    wide.copyTagsFrom(scan)
    val passed = added.map(_._2) ++ struct.toSeq.flatMap(_._2)
    def isStruct(e: NamedExpression) = struct.exists(_._1 == e.exprId)
    def replaced[E <: Expression](e: E): E = e.transform {
      case GetStructField(a: Attribute, i, _) if isStruct(a) => struct.get._2(i)
      case call: LeafExpression if added.exists(_._1.expression == call) => added.find(_._1.expression == call).get._2
    }.asInstanceOf[E]
    val made = nodes.foldRight[SparkPlan](wide) {
      case (p: ProjectExec, below) =>
        val list = p.projectList.filterNot(isStruct).map(e => replaced(e))
        val more = if (p eq nodes.head) Nil else passed.filterNot(a => list.exists(_.exprId == a.exprId))
        tagged(p, ProjectExec(list ++ more, below))
      case (other, below) => tagged(other, other.mapExpressions(e => replaced(e)).withNewChildren(Seq(below)))
    }
    val top = if (same(made, nodes.head)) made else {
      val cut = ProjectExec(nodes.head.output, made)
      LogicalLinks.insertAbove(cut, made)
      cut
    }
    if (top.exists(_.expressions.exists(_.references.exists(isStruct)))) None else Some(top)
  }

  private def tagged(from: SparkPlan, to: SparkPlan): SparkPlan = {
    to.copyTagsFrom(from)
    to
  }

  private def same(one: SparkPlan, other: SparkPlan): Boolean = one.output.map(_.exprId) == other.output.map(_.exprId)

  /** Mark the operators of `plan` that must stay in Spark. */
  def mark(plan: SparkPlan): Unit = {
    plan.foreach(_.unsetTagValue(Below))
    visit(plan, isBelow = false)
  }

  def isBelow(plan: SparkPlan): Boolean = plan.getTagValue(Below).isDefined

  private def visit(plan: SparkPlan, isBelow: Boolean): Unit = {
    val below = !plan.isInstanceOf[Exchange] && (isBelow || readsIn(plan.expressions))
    if (below) plan.setTagValue(Below, true)
    plan.children.foreach(visit(_, below))
  }

  private def readsIn(expressions: Seq[Expression]): Boolean =
    expressions.exists(_.exists(e => Functions.exists(_.expression == e)))
}
