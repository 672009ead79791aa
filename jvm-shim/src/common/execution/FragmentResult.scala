package org.apache.spark.sql.pysparkpipeline

import java.lang.invoke.SerializedLambda

import scala.jdk.CollectionConverters._
import scala.reflect.ClassTag
import scala.util.Try

import org.apache.arrow.vector.types.pojo.{ArrowType, Field, Schema}

import org.apache.spark.{Partition, TaskContext}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.ArrowUtils
import org.apache.spark.util.IndylambdaScalaClosures

/**
 * The result of a fragment: rows decoded from its chunks. If Spark asks for Arrow batches of the rows, for `toArrow` and
 * `toPandas`, the RDD returns the chunks instead; `passedOn` counts them.
 */
class FragmentResultRDD(val fragment: FragmentRDD, schema: StructType, passedOn: SQLMetric)
  extends DecodedChunkRDD(fragment, schema) {

  override private[spark] def mapPartitionsInternal[U: ClassTag](
      f: Iterator[InternalRow] => Iterator[U], preservesPartitioning: Boolean): RDD[U] =
    ArrowRequest.of(f).filter(_.isMetBy(schema)) match {
      case Some(request) => batches(request).asInstanceOf[RDD[U]]
      case None => new CollectedRDD(super.mapPartitionsInternal(f, preservesPartitioning))
    }

  private def batches(request: ArrowRequest): RDD[Array[Byte]] = {
    val counter = passedOn
    fragment.withMaxRows(request.maxRows).mapPartitionsInternal { rows =>
      rows.map { row =>
        counter += 1
        row.getBinary(ChunkRow.Data)
      }
    }
  }
}

/** The encoded rows of a result, which `collect` returns by a job without closures. */
private class CollectedRDD[T: ClassTag](rows: RDD[T]) extends RDD[T](rows) {

  override protected def getPartitions: Array[Partition] = rows.partitions

  override def compute(split: Partition, context: TaskContext): Iterator[T] = firstParent[T].iterator(split, context)

  override def collect(): Array[T] = withScope {
    Array.concat(PartitionFunction.run(this, new ToArray[T]).toIndexedSeq: _*)
  }
}

/**
 * The request of Spark's `Dataset.toArrowBatchRdd`: record batch messages of at most `maxRows` rows (0 or less: no
 * limit) in the layout of `schema`, without the schema, which the driver writes itself.
 */
case class ArrowRequest(schema: StructType, maxRows: Int, failsOnDuplicates: Boolean, hasLargeTypes: Boolean) {

  /** Return whether chunks of `columns` satisfy the request. Only the schema has a time zone, a batch has none. */
  def isMetBy(columns: StructType): Boolean =
    SQLConf.get.arrowCompressionCodec == "none" &&
      Try(ArrowUtils.toArrowSchema(schema, "UTC", failsOnDuplicates, hasLargeTypes)).toOption
        .exists(asked => ArrowRequest.layout(asked) == ArrowRequest.layout(ArrowChunks.arrowSchema(columns)))
}

object ArrowRequest {
  private val Owner = "org/apache/spark/sql/classic/Dataset"
  private val Name = "$anonfun$toArrowBatchRdd"
  private val Signature = "(Lorg/apache/spark/sql/types/StructType;ILjava/lang/String;ZZLscala/collection/Iterator;)" +
    "Lorg/apache/spark/sql/execution/arrow/ArrowConverters$ArrowBatchIterator;"

  /** Return the request behind Spark's function over a plan's rows; None for any other function. */
  def of(function: AnyRef): Option[ArrowRequest] =
    IndylambdaScalaClosures.getSerializationProxy(function).filter(isRequest).map { lambda =>
      ArrowRequest(
        schema = lambda.getCapturedArg(0).asInstanceOf[StructType],
        maxRows = lambda.getCapturedArg(1).asInstanceOf[Int],
        failsOnDuplicates = lambda.getCapturedArg(3).asInstanceOf[Boolean],
        hasLargeTypes = lambda.getCapturedArg(4).asInstanceOf[Boolean])
    }

  /** Compares name and signature, so that a function of another Spark version does not match. */
  private def isRequest(lambda: SerializedLambda): Boolean =
    lambda.getImplClass == Owner && lambda.getImplMethodName.startsWith(Name) &&
      lambda.getImplMethodSignature == Signature

  private def layout(schema: Schema): Seq[(ArrowType, Seq[Field])] =
    schema.getFields.asScala.toSeq.map(field => field.getType -> field.getChildren.asScala.toSeq)
}
