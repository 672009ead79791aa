package org.apache.spark.sql.pysparkpipeline

import scala.jdk.CollectionConverters._

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.columnar.{CachedBatch, SimpleMetricsCachedBatchSerializer}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.columnar.DefaultCachedBatchSerializer
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.ColumnarBatch
import org.apache.spark.storage.StorageLevel

/**
 * The serializer of cached plans (`spark.sql.cache.serializer`). The result of the engine is cached as compressed columns
 * of its chunks ([[CachedBatches]]); any other plan as Spark's own serializer does. The batches of both have Spark's class,
 * which Kryo knows, and the statistics by which Spark skips batches.
 */
class ChunkCacheSerializer extends SimpleMetricsCachedBatchSerializer {
  private val spark = new DefaultCachedBatchSerializer

  /** Makes Spark call `convertToColumnarPlanIfPossible`; the input remains rows, unless a plan has nothing else. */
  override def supportsColumnarInput(schema: Seq[Attribute]): Boolean = CachedBatches.areSupported(schema)

  override def convertToColumnarPlanIfPossible(plan: SparkPlan): SparkPlan = CachedPlans.converted(plan).getOrElse(plan)

  override def convertInternalRowToCachedBatch(
      input: RDD[InternalRow], schema: Seq[Attribute], level: StorageLevel, conf: SQLConf): RDD[CachedBatch] =
    CachedBatches.of(input, schema, conf).getOrElse(
      new SparkBatchRDD(spark.convertInternalRowToCachedBatch(input, schema, level, conf)))

  override def convertColumnarBatchToCachedBatch(
      input: RDD[ColumnarBatch], schema: Seq[Attribute], level: StorageLevel, conf: SQLConf): RDD[CachedBatch] =
    convertInternalRowToCachedBatch(input.mapPartitionsInternal(_.flatMap(_.rowIterator().asScala)), schema, level, conf)

  /** The batches of a relation may be of either kind, and only rows can be read from both. */
  override def supportsColumnarOutput(schema: StructType): Boolean = false

  override def convertCachedBatchToColumnarBatch(
      input: RDD[CachedBatch], cached: Seq[Attribute], selected: Seq[Attribute], conf: SQLConf): RDD[ColumnarBatch] =
    throw new UnsupportedOperationException("cached batches are read as rows")

  override def convertCachedBatchToInternalRow(
      input: RDD[CachedBatch], cached: Seq[Attribute], selected: Seq[Attribute], conf: SQLConf): RDD[InternalRow] =
    if (CachedBatches.areChunks(input)) CachedChunkRDD(input, cached, selected)
    else spark.convertCachedBatchToInternalRow(input, cached, selected, conf)
}
