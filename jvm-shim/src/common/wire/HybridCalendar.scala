package org.apache.spark.sql.pysparkpipeline

import java.util.TimeZone

import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.util.SparkClassUtils

/**
 * Describes this JVM to the worker, which reads dates of the hybrid Julian calendar as Spark's `RebaseDateTime` does:
 * the time zone for files that name none, and the location of the table of rebases.
 */
object HybridCalendar {
  private lazy val table =
    Option(SparkClassUtils.getSparkClassLoader.getResource("julian-gregorian-rebase-micros.json")).map(_.toString)

  def json: ObjectNode = {
    val node = Json.obj().put("timeZone", TimeZone.getDefault.getID)
    table.foreach(node.put("table", _))
    node
  }
}
