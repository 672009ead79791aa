package org.apache.spark.sql.pysparkpipeline

import java.util.TimeZone

import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.util.SparkClassUtils

/**
 * What the worker needs of this JVM to read dates of the hybrid Julian calendar as Spark's `RebaseDateTime` does: the
 * time zone of files that name none, and where the table of rebases is.
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
