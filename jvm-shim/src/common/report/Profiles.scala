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
 * The profiles of a fragment's instances, including failed tasks, each as the JSON that its worker sent. Beyond a total
 * size, further profiles are omitted and counted.
 */
class Profiles extends AccumulatorV2[String, JavaList[String]] {
  private val kept = Collections.synchronizedList(new ArrayList[String]())
  private var length = 0L
  private var omittedCount = 0L

  /** Reserve a slot for the profile of one instance of this task; [[put]] replaces it as it grows. */
  def reserve(): Int = synchronized {
    kept.add("")
    kept.size - 1
  }

  def put(slot: Int, profile: String): Unit = kept.set(slot, profile)

  /** Mark the profile in `slot` as that of a failed task; drop it if the task was killed. */
  def fail(slot: Int, killed: Boolean): Unit = {
    val found = kept.get(slot)
    if (found.nonEmpty) {
      val marked = Manifest.mapper.readTree(found).asInstanceOf[ObjectNode].put("failed", true)
      kept.set(slot, if (killed) "" else Manifest.mapper.writeValueAsString(marked))
    }
  }

  /** The number of omitted instances. */
  def omitted: Long = omittedCount

  override def isZero: Boolean = kept.isEmpty && omittedCount == 0

  override def copy(): Profiles = {
    val profiles = new Profiles
    profiles.merge(this)
    profiles
  }

  override def reset(): Unit = {
    kept.clear()
    length = 0L
    omittedCount = 0L
  }

  override def add(profile: String): Unit =
    if (length < Profiles.MaxLength) {
      kept.add(profile)
      length += profile.length
    } else omittedCount += 1

  override def merge(other: AccumulatorV2[String, JavaList[String]]): Unit = {
    other.value.forEach(add(_))
    other match {
      case profiles: Profiles => omittedCount += profiles.omitted
      case _ =>
    }
  }

  override def value: JavaList[String] = kept.synchronized {
    val found = new ArrayList[String](kept)
    found.removeIf(_.isEmpty)
    found
  }
}

object Profiles {
  /** The number of characters kept per fragment: some thousand instances. */
  private val MaxLength = 16L << 20

  def create(sc: SparkContext): Profiles = {
    val profiles = new Profiles
    profiles.register(sc, countFailedValues = true)
    profiles
  }

  /** Return the executed fragments of a plan as JSON, each before those it reads, with the profiles of their instances. */
  def json(plan: SparkPlan): String = {
    val seen = mutable.LinkedHashMap.empty[Int, PipelineFragmentExec]
    val inputs = mutable.Map.empty[Int, Seq[Int]]
    Report.of(plan).fragmentsAndCached.foreach { f =>
      seen.getOrElseUpdate(f.number, f)
      inputs(f.number) = f.children.flatMap(source).distinct
    }
    Json.arr(seen.values.toSeq.map { f =>
      val node = Json.obj().put("id", f.number)
      node.set[ObjectNode]("inputs", Manifest.mapper.valueToTree[JsonNode](inputs(f.number).toArray))
      val instances = ArrayBuffer.empty[JsonNode]
      f.profiles.value.forEach(text => instances += Manifest.mapper.readTree(text))
      node.set[ObjectNode]("instances", Json.arr(instances.toSeq))
      node.put("omitted", f.profiles.omitted)
      node: JsonNode
    }).toString
  }

  /** Return the id of the fragment that computed the chunks of an input. */
  private def source(input: SparkPlan): Option[Int] = Exchanges.behind(input) match {
    case f: PipelineFragmentExec => Some(f.number)
    case e @ (_: PipelineShuffleExchangeExec | _: PipelineBroadcastExchangeExec) => e.children.flatMap(source).headOption
    case _ => None
  }
}
