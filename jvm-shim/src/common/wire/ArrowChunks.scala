package org.apache.spark.sql.pysparkpipeline

import java.io.ByteArrayOutputStream
import java.nio.channels.Channels

import scala.jdk.CollectionConverters._

import org.apache.arrow.memory.BufferAllocator
import org.apache.arrow.vector.{VectorLoader, VectorSchemaRoot, VectorUnloader}
import org.apache.arrow.vector.ipc.{ReadChannel, WriteChannel}
import org.apache.arrow.vector.ipc.message.MessageSerializer
import org.apache.arrow.vector.util.ByteArrayReadableSeekableByteChannel

import org.apache.spark.{Partition, TaskContext}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, InterpretedUnsafeProjection, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types.{StructField, StructType}
import org.apache.spark.sql.util.ArrowUtils
import org.apache.spark.sql.vectorized.{ArrowColumnVector, ColumnarBatch, ColumnVector}

/** Decodes chunk rows into rows, for an operator that stayed in Spark; a fragment reads `chunks` instead. */
class DecodedChunkRDD(val chunks: RDD[InternalRow], schema: StructType) extends RDD[InternalRow](chunks) {

  override protected def getPartitions: Array[Partition] = firstParent[InternalRow].partitions

  override def compute(split: Partition, context: TaskContext): Iterator[InternalRow] =
    DecodedChunks.of(firstParent[InternalRow].iterator(split, context), schema, context)
}

object DecodedChunks {

  /** Return the rows of `chunks`, each valid until the next. */
  def of(chunks: Iterator[InternalRow], schema: StructType, context: TaskContext): Iterator[InternalRow] = {
    val reader = new ChunkReader(schema, ArrowChunks.allocator("pysparkpipeline chunk reader"))
    context.addTaskCompletionListener[Unit](_ => reader.close())
    val projection = new RowProjection(schema)
    chunks.flatMap { row =>
      reader.read(row.getBinary(ChunkRow.Data)).rowIterator().asScala.map(projection)
    }
  }
}

/**
 * Copies rows to UnsafeRows. The first rows are interpreted, the others run compiled code: most results are short, and
 * compiling costs as much as interpreting some ten thousand rows.
 */
class RowProjection(schema: StructType) extends (InternalRow => UnsafeRow) {
  private val fields = schema.zipWithIndex.map { case (f, i) => BoundReference(i, f.dataType, f.nullable) }
  private var projection = InterpretedUnsafeProjection.createProjection(fields)
  private var interpreted = 4096

  override def apply(row: InternalRow): UnsafeRow = {
    if (interpreted == 0) projection = UnsafeProjection.create(fields)
    interpreted -= 1
    projection(row)
  }
}

/** Encodes the rows of an operator that stayed in Spark as chunk rows. */
class RowChunkRDD(rows: RDD[InternalRow], schema: StructType, batchRows: Int)
  extends RDD[InternalRow](rows) {
  override protected def getPartitions: Array[Partition] = firstParent[InternalRow].partitions
  override def compute(split: Partition, context: TaskContext): Iterator[InternalRow] =
    new RowChunkIterator(firstParent[InternalRow].iterator(split, context), schema, batchRows, context)
}

object ArrowChunks {
  /** Return Spark's schema with unique column names as an Arrow schema; timestamps are UTC on the wire. */
  def arrowSchema(schema: StructType): org.apache.arrow.vector.types.pojo.Schema = {
    val renamed = StructType(schema.zipWithIndex.map { case (f, i) => StructField(s"c$i", f.dataType) })
    ArrowUtils.toArrowSchema(renamed, "UTC", true, false)
  }

  /** Read a record batch message into the vectors of `loader`. */
  def load(loader: VectorLoader, channel: ReadChannel, allocator: BufferAllocator): Unit = {
    val batch = MessageSerializer.deserializeRecordBatch(channel, allocator)
    try loader.load(batch) finally batch.close()
  }

  def allocator(name: String): BufferAllocator = ArrowUtils.rootAllocator.newChildAllocator(name, 0, Long.MaxValue)

  def allocator(name: String, context: TaskContext): BufferAllocator = {
    val allocator = this.allocator(name)
    context.addTaskCompletionListener[Unit](_ => allocator.close())
    allocator
  }
}

/** Decodes record batch messages one after another; a batch is valid until the next. Owns `allocator`. */
class ChunkReader(schema: StructType, allocator: BufferAllocator) extends AutoCloseable {
  private val root = VectorSchemaRoot.create(ArrowChunks.arrowSchema(schema), allocator)
  private val loader = new VectorLoader(root)
  private val columns: Array[ColumnVector] =
    root.getFieldVectors.asScala.map(v => new ArrowColumnVector(v): ColumnVector).toArray

  private var narrow = Map.empty[Seq[Byte], NarrowReader]

  def read(data: Array[Byte]): ColumnarBatch = NarrowForm.widths(data) match {
    case Some(widths) =>
      if (!narrow.contains(widths)) narrow += widths -> new NarrowReader(schema, widths, allocator)
      narrow(widths).read(data)
    case None => readFirst(data)._1
  }

  /** Return the batch of the first message in `data`, and the position of the next one. */
  def readFirst(data: Array[Byte]): (ColumnarBatch, Int) = {
    val channel = new ReadChannel(new ByteArrayReadableSeekableByteChannel(data))
    ArrowChunks.load(loader, channel, allocator)
    new ColumnarBatch(columns, root.getRowCount) -> channel.bytesRead().toInt
  }

  override def close(): Unit = {
    root.close()
    narrow.values.foreach(_.close())
    allocator.close()
  }
}

/** Encodes rows as record batch messages. Owns `allocator`. */
class RowEncoder(schema: StructType, allocator: BufferAllocator) extends AutoCloseable {
  private val root = VectorSchemaRoot.create(ArrowChunks.arrowSchema(schema), allocator)
  private val writer = new ChunkWriter(root, schema)

  /** Return the number of the next rows, at most `maxRows`, and their message. */
  def encode(rows: Iterator[InternalRow], maxRows: Int): (Int, Array[Byte]) = {
    writer.begin()
    var count = 0
    while (count < maxRows && rows.hasNext) {
      writer.write(rows.next(), count)
      count += 1
    }
    writer.finish(count)
    val batch = new VectorUnloader(root).getRecordBatch
    val out = new ByteArrayOutputStream()
    try MessageSerializer.serialize(new WriteChannel(Channels.newChannel(out)), batch) finally batch.close()
    (count, out.toByteArray)
  }

  override def close(): Unit = {
    root.close()
    allocator.close()
  }
}

/** Encodes rows of a Spark operator as chunk rows of at most `maxRows` rows. */
class RowChunkIterator(rows: Iterator[InternalRow], schema: StructType, maxRows: Int, context: TaskContext)
  extends Iterator[InternalRow] {

  private val encoder = new RowEncoder(schema, ArrowChunks.allocator("pysparkpipeline row input"))
  context.addTaskCompletionListener[Unit](_ => encoder.close())
  private val writer = new ChunkRowWriter
  private var sequence = 0L

  override def hasNext: Boolean = rows.hasNext

  override def next(): InternalRow = {
    val (count, message) = encoder.encode(rows, maxRows)
    sequence += 1
    writer.write(0, 0, context.partitionId(), sequence - 1, count, message)
  }
}
