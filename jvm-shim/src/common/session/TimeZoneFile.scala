package org.apache.spark.sql.pysparkpipeline

import java.nio.file.{Files, Paths}

/** The file with the rules of this Java's time zones, which the workers read: Python's database has others. */
object TimeZoneFile {

  /** The environment variable of workers with the path of the file. */
  val Variable = "PYSPARK_PIPELINE_TIME_ZONES"

  /** Return the path; None if this Java has none. */
  lazy val path: Option[String] =
    sys.props.get("java.home").map(Paths.get(_, "lib", "tzdb.dat")).filter(Files.isReadable(_)).map(_.toString)
}
