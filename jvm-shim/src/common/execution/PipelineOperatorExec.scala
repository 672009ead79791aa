package org.apache.spark.sql.pysparkpipeline

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

  override def nodeName: String = "Pipeline" + original.nodeName.trim

  override def simpleString(maxFields: Int): String = "Pipeline" + original.simpleString(maxFields) + label

  override def verboseString(maxFields: Int): String = simpleString(maxFields)

  override def simpleStringWithNodeId(): String = super.simpleStringWithNodeId() + label

  override protected def formattedNodeName: String = super.formattedNodeName + label

  private def label: String = FragmentNumbers.of(this).map(number => s" [fragment $number]").getOrElse("")

  override protected def doCanonicalize(): SparkPlan = PipelineOperatorExec(original.canonicalized)

  override protected def withNewChildrenInternal(newChildren: IndexedSeq[SparkPlan]): SparkPlan =
    copy(original = original.withNewChildren(newChildren))

  override protected def doExecute(): RDD[InternalRow] = Fusion.fragment(this).execute()
}
