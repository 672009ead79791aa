package org.apache.spark.sql.pysparkpipeline

import java.util.{ArrayList, Collections, List => JavaList}

import scala.collection.mutable
import scala.collection.mutable.ArrayBuffer

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.SparkContext
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.util.AccumulatorV2

/**
 * What the instances of a fragment counted, those of failed tasks too, each as the JSON that its worker sent. Those
 * beyond a size are left out, and counted.
 */
class Profiles extends AccumulatorV2[String, JavaList[String]] {
  private val kept = Collections.synchronizedList(new ArrayList[String]())
  private var length = 0L
  private var leftOut = 0L

  /** A place for what one instance of this task will tell, later again and more. */
  def reserve(): Int = synchronized {
    kept.add("")
    kept.size - 1
  }

  def put(place: Int, profile: String): Unit = kept.set(place, profile)

  /** What was told at `place` is of a task that fails: it is marked, or dropped where the task was killed. */
  def fail(place: Int, killed: Boolean): Unit = {
    val told = kept.get(place)
    if (told.nonEmpty) {
      val marked = Manifest.mapper.readTree(told).asInstanceOf[ObjectNode].put("failed", true)
      kept.set(place, if (killed) "" else Manifest.mapper.writeValueAsString(marked))
    }
  }

  /** How many instances have been left out. */
  def omitted: Long = leftOut

  override def isZero: Boolean = kept.isEmpty && leftOut == 0

  override def copy(): Profiles = {
    val made = new Profiles
    made.merge(this)
    made
  }

  override def reset(): Unit = {
    kept.clear()
    length = 0L
    leftOut = 0L
  }

  override def add(profile: String): Unit =
    if (length < Profiles.MostLength) {
      kept.add(profile)
      length += profile.length
    } else leftOut += 1

  override def merge(other: AccumulatorV2[String, JavaList[String]]): Unit = {
    other.value.forEach(add(_))
    other match {
      case profiles: Profiles => leftOut += profiles.omitted
      case _ =>
    }
  }

  override def value: JavaList[String] = kept.synchronized {
    val told = new ArrayList[String](kept)
    told.removeIf(_.isEmpty)
    told
  }
}

object Profiles {
  /** Characters kept of a fragment: some thousand instances. */
  private val MostLength = 16L << 20

  def create(sc: SparkContext): Profiles = {
    val made = new Profiles
    made.register(sc, countFailedValues = true)
    made
  }

  /** The fragments of a plan that ran, those that give rows to others behind them, with what their instances counted. */
  def json(plan: SparkPlan): String = {
    val seen = mutable.LinkedHashMap.empty[Int, PipelineFragmentExec]
    val inputs = mutable.Map.empty[Int, Seq[Int]]
    Report.of(plan).fragmentsAndCached.foreach { f =>
      seen.getOrElseUpdate(f.id, f)
      inputs(f.id) = f.children.flatMap(source).distinct
    }
    Json.arr(seen.values.toSeq.map { f =>
      val node = Json.obj().put("id", f.id)
      node.set[ObjectNode]("inputs", Manifest.mapper.valueToTree[JsonNode](inputs(f.id).toArray))
      val instances = ArrayBuffer.empty[JsonNode]
      f.profiles.value.forEach(text => instances += Manifest.mapper.readTree(text))
      node.set[ObjectNode]("instances", Json.arr(instances.toSeq))
      node.put("omitted", f.profiles.omitted)
      node: JsonNode
    }).toString
  }

  /** The fragment whose chunks an input carries. */
  private def source(input: SparkPlan): Option[Int] = Exchanges.behind(input) match {
    case f: PipelineFragmentExec => Some(f.id)
    case e @ (_: PipelineShuffleExchangeExec | _: PipelineBroadcastExchangeExec) => e.children.flatMap(source).headOption
    case _ => None
  }
}
