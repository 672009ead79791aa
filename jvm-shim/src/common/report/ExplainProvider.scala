package org.apache.spark.sql.pysparkpipeline

import java.lang.invoke.MethodHandles

import scala.util.Using
import scala.util.control.NonFatal

import org.apache.spark.internal.Logging
import org.apache.spark.sql.{ExtendedExplainGenerator, PipelineExplain}

/**
 * Spark loads the providers of extended explain by name for every query, with the class loader of the thread that runs
 * the query. Threads of Java's common pool, among others, have one that does not see `--jars`, and the query would fail.
 * So [[PipelineExplain]] is defined by the class loader of Spark's own classes, which every thread sees.
 */
object ExplainProvider extends Logging {

  val Name = "org.apache.spark.sql.PipelineExplain"

  /** Return whether every thread can load the provider. Repeatable. */
  def define(): Boolean = try {
    if (!isDefined) {
      val lookup = MethodHandles.privateLookupIn(classOf[ExtendedExplainGenerator], MethodHandles.lookup())
      Seq(s"$Name$$", Name).foreach(name => lookup.defineClass(bytes(name)))
    }
    connect()
    true
  } catch {
    case e @ (NonFatal(_) | _: LinkageError) =>
      logWarning("pyspark_pipeline adds no section to Spark's explain", e)
      false
  }

  private def isDefined: Boolean = try {
    Class.forName(Name, false, classOf[ExtendedExplainGenerator].getClassLoader)
    true
  } catch {
    case _: ClassNotFoundException => false
  }

  private def bytes(name: String): Array[Byte] =
    Using.resource(getClass.getClassLoader.getResourceAsStream(name.replace('.', '/') + ".class"))(_.readAllBytes())

  /** In a method of its own: the name is resolved when the class has been defined. */
  private def connect(): Unit = PipelineExplain.text = Report.text(_)
}
