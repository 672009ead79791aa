package org.apache.spark.sql.pysparkpipeline

import scala.collection.concurrent.TrieMap

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet, SortOrder}
import org.apache.spark.sql.catalyst.plans.physical.{Distribution, Partitioning}
import org.apache.spark.sql.execution.SparkPlan

/**
 * One converted operator: it holds Spark's operator and has its children, output and requirements. It stays in the plan
 * from conversion until AQE creates its stage, so that AQE sees single operators with their logical links. Then
 * [[Fusion]] moves it into a [[PipelineFragmentExec]].
 */
case class PipelineOperatorExec(original: SparkPlan) extends SparkPlan {

  override def children: Seq[SparkPlan] = original.children

  /** A filter drops the NULLs of `isnotnull(x)` also if Spark evaluates it for the engine. */
  override lazy val output: Seq[Attribute] = JvmExpressions.without(original).output

  override def outputPartitioning: Partitioning = original.outputPartitioning

  override def outputOrdering: Seq[SortOrder] = Nil

  override def requiredChildDistribution: Seq[Distribution] = original.requiredChildDistribution

  override def requiredChildOrdering: Seq[Seq[SortOrder]] = children.map(_ => Nil)

  override def producedAttributes: AttributeSet = original.producedAttributes ++ original.outputSet

  @transient override lazy val nodeName: String = "Pipeline" + original.nodeName.trim

  /** Texts of Spark's operator by the number of fields. AQE describes the whole plan whenever it creates a stage. */
  @transient private lazy val texts = TrieMap.empty[Int, String]

  private def text(maxFields: Int): String = texts.getOrElseUpdate(maxFields, original.simpleString(maxFields))

  /** What pipelines show of the operator beside its name. */
  @transient lazy val detail: String = OperatorRules.of(original).label(original)

  override def argString(maxFields: Int): String = text(maxFields)

  override def simpleString(maxFields: Int): String = "Pipeline" + text(maxFields) + label

  override def verboseString(maxFields: Int): String = simpleString(maxFields)

  override def simpleStringWithNodeId(): String = super.simpleStringWithNodeId() + label

  override protected def formattedNodeName: String = super.formattedNodeName + label

  private def label: String = FragmentNumbers.of(this).map(number => s" [fragment $number]").getOrElse("")

  override protected def doCanonicalize(): SparkPlan = PipelineOperatorExec(original.canonicalized)

  override protected def withNewChildrenInternal(newChildren: IndexedSeq[SparkPlan]): SparkPlan =
    copy(original = original.withNewChildren(newChildren))

  override protected def doExecute(): RDD[InternalRow] = Fusion.fragment(this).execute()
}
