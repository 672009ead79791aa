package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec

/** Cached relations whose chunks fragments read. The scan itself stays Spark's, which skips batches by their statistics. */
object CachedScans {

  /** Return the scan of a relation that fragments read, behind its stage. */
  def of(plan: SparkPlan): Option[InMemoryTableScanExec] = Exchanges.behind(plan) match {
    case scan: InMemoryTableScanExec if reason(scan).isEmpty => Some(scan)
    case _ => None
  }

  def isRead(plan: SparkPlan): Boolean = of(plan).isDefined

  /** Return the reason why fragments do not read the chunks of `scan`; None if they do. */
  def reason(scan: InMemoryTableScanExec): Option[String] = {
    val builder = scan.relation.cacheBuilder
    if (!builder.serializer.isInstanceOf[ChunkCacheSerializer]) Some("the cache has a serializer of its own")
    else if (!PlanCounter.endsInEngine(builder.cachedPlan)) Some("Spark computed the cached rows")
    else if (!CachedBatches.areSupported(scan.relation.output)) Some("Spark caches columns of nested types")
    else if (scan.outputOrdering.nonEmpty) Some("the cached rows are sorted")
    else None
  }

  /** Return the bytes of the relation's batches; before they exist, Spark's estimate. */
  def bytes(scan: InMemoryTableScanExec): BigInt = scan.relation.computeStats().sizeInBytes
}
