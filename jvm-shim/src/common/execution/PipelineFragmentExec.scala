package org.apache.spark.sql.pysparkpipeline

import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression, SortOrder}
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution.{LeafExecNode, SparkPlan}
import org.apache.spark.sql.execution.metric.SQLMetric

/**
 * A subtree that runs in the pipeline engine. `root` is a tree of [[PipelineOperatorExec]]; the nodes below it are the
 * fragment's inputs: exchanges and stages (the fragment reads their chunks undecoded) or operators that stayed in Spark
 * (the JVM encodes their rows as chunks). The inputs are this node's children, and then `observations`, by which Spark
 * reports the metrics that operators inside `root` collect ([[MetricBuffers]]).
 *
 * `subqueryExpressions` repeats the subquery expressions inside `root`, so that Spark plans, reuses and awaits them.
 */
case class PipelineFragmentExec(root: SparkPlan, subqueryExpressions: Seq[Expression], observations: Seq[SparkPlan])
  extends SparkPlan {

  override def children: Seq[SparkPlan] = Fusion.inputs(root) ++ observations

  override def output: Seq[Attribute] = root.output

  override def outputPartitioning: Partitioning = root.outputPartitioning

  override def outputOrdering: Seq[SortOrder] = Nil

  /** The number of the fragment in every report; 0 for a canonical plan. */
  def number: Int = FragmentNumbers.of(this).getOrElse(0)

  override def nodeName: String = s"PipelineFragment $number"

  override def simpleString(maxFields: Int): String = nodeName

  override def verboseString(maxFields: Int): String = simpleString(maxFields)

  /** One line per pipeline, sources first. */
  @transient lazy val pipelines: Seq[String] = Pipelines.of(this)

  @transient override lazy val innerChildren: Seq[SparkPlan] =
    pipelines.zipWithIndex.map { case (text, i) => PipelineText(s"pipeline $i: $text") }

  override lazy val metrics: Map[String, SQLMetric] =
    FragmentMetrics.shown(sparkContext, Pipelines.names(this)) ++ scanMetrics

  /** Metrics that Spark's UI does not show. */
  lazy val hiddenMetrics: Map[String, SQLMetric] = FragmentMetrics.hidden(sparkContext)

  /** The counters of each instance, operator by operator. */
  @transient lazy val profiles: Profiles = Profiles.create(sparkContext)

  override def resetMetrics(): Unit = {
    super.resetMetrics()
    hiddenMetrics.values.foreach(_.reset())
    profiles.reset()
  }

  lazy val scanMetrics: Map[String, SQLMetric] =
    Fusion.scans(root).flatMap(_.metrics).filter { case (name, _) => PipelineFragmentExec.ScanMetrics(name) }.toMap

  override protected def doCanonicalize(): SparkPlan = PipelineFragmentExec(root.canonicalized, Nil, Nil)

  override protected def withNewChildrenInternal(newChildren: IndexedSeq[SparkPlan]): SparkPlan = {
    val (inputs, metrics) = newChildren.splitAt(newChildren.length - observations.length)
    copy(root = Fusion.withInputs(root, inputs), observations = metrics)
  }

  /** Return the chunk rows of the fragment, which ends in `sink`; one task per partition. */
  def chunks(sink: ObjectNode): FragmentRDD = {
    prepare()
    waitForSubqueries()
    FragmentLaunch.rdd(this, sink)
  }

  override protected def doExecute(): RDD[InternalRow] =
    new FragmentResultRDD(chunks(Json.obj().put("kind", "result")), schema, hiddenMetrics("arrowChunks"))
}

object PipelineFragmentExec {
  private val ScanMetrics = Set("numFiles", "filesSize", "numPartitions", "metadataTime")
}

/** One pipeline of a fragment as a line of explain. It never runs. */
case class PipelineText(text: String) extends LeafExecNode {
  override def output: Seq[Attribute] = Nil
  override def simpleString(maxFields: Int): String = text
  override def verboseString(maxFields: Int): String = text
  override def simpleStringWithNodeId(): String = text
  override def verboseStringWithOperatorId(): String = text
  override protected def doExecute(): RDD[InternalRow] =
    throw new UnsupportedOperationException("a line of explain")
}
