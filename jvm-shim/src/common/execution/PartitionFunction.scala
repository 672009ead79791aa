package org.apache.spark.sql.pysparkpipeline

import scala.reflect.ClassTag

import org.apache.spark.TaskContext
import org.apache.spark.rdd.RDD

/**
 * What a job computes of each partition. Spark reads the byte code of the class around a closure before each job, to
 * clean it, some milliseconds for its own classes; it does not of an object that is no closure.
 */
abstract class PartitionFunction[T, U] extends ((TaskContext, Iterator[T]) => U) with Serializable

object PartitionFunction {

  /** Run a job; return its results in the order of the partitions. */
  def run[T, U: ClassTag](rdd: RDD[T], function: PartitionFunction[T, U]): Array[U] =
    rdd.sparkContext.runJob(rdd, function, rdd.partitions.indices)
}

/** Returns the elements of a partition. */
class ToArray[T: ClassTag] extends PartitionFunction[T, Array[T]] {
  override def apply(context: TaskContext, rows: Iterator[T]): Array[T] = rows.toArray
}
