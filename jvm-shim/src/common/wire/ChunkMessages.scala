package org.apache.spark.sql.pysparkpipeline

import java.io.DataOutputStream
import java.nio.{ByteBuffer, ByteOrder}
import java.util.Arrays

import com.google.flatbuffers.FlatBufferBuilder
import org.apache.arrow.flatbuf.{Buffer, FieldNode, Message, MessageHeader, MetadataVersion, RecordBatch}

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.Platform

/**
 * Writes chunk rows to a worker as Arrow record batch messages of one struct column ([[ChunkRow.schema]]). Spark's writer
 * would copy the bytes of a chunk through a vector, which it also fills with zeros before every batch.
 */
class ChunkMessages {
  import ChunkMessages._

  private var gathered = new Array[Byte](1 << 16)
  private var size = 0
  private var count = 0
  private val heads = Array.fill(MaxRows)(new Head)

  /** Write all `rows`, which may share their memory: a large one as a message of its own, small ones together. */
  def write(rows: Iterator[UnsafeRow], out: DataOutputStream): Unit = {
    rows.foreach { row =>
      val place = row.getLong(ChunkRow.Data)
      val length = place.toInt
      val start = row.getBaseOffset + (place >>> 32)
      if (length >= LeastAlone) {
        flush(out)
        heads(0).read(row, length)
        row.getBaseObject match {
          case bytes: Array[Byte] => message(1, bytes, (start - Platform.BYTE_ARRAY_OFFSET).toInt, length, out)
          case _ => message(1, row.getBinary(ChunkRow.Data), 0, length, out)
        }
      } else {
        if (count == MaxRows || size + length > MaxBytes) flush(out)
        gather(row, start, length)
      }
    }
    flush(out)
  }

  private def gather(row: UnsafeRow, start: Long, length: Int): Unit = {
    if (size + length > gathered.length) gathered = Arrays.copyOf(gathered, Math.max(size + length, 2 * gathered.length))
    Platform.copyMemory(row.getBaseObject, start, gathered, Platform.BYTE_ARRAY_OFFSET + size, length)
    heads(count).read(row, length)
    size += length
    count += 1
  }

  private def flush(out: DataOutputStream): Unit = {
    if (count > 0) message(count, gathered, 0, size, out)
    size = 0
    count = 0
  }

  /** Write the first `rows` heads and their data. */
  private def message(rows: Int, data: Array[Byte], start: Int, length: Int, out: DataOutputStream): Unit = {
    val body = ByteBuffer.allocate(fixedBytes(rows)).order(ByteOrder.LITTLE_ENDIAN)
    Seq[Head => Int](_.partition, _.driver, _.sender).foreach { field =>
      (0 until rows).foreach(i => body.putInt(field(heads(i))))
      pad(body)
    }
    Seq[Head => Long](_.sequence, _.rows).foreach(field => (0 until rows).foreach(i => body.putLong(field(heads(i)))))
    body.putInt(0)
    (0 until rows).foldLeft(0) { (end, i) =>
      body.putInt(end + heads(i).length)
      end + heads(i).length
    }
    pad(body)
    out.write(header(rows, length))
    out.write(body.array)
    out.write(data, start, length)
    out.write(Zeros, 0, padded(length) - length)
  }

  /** Return the prefix of a message and its metadata, both padded. */
  private def header(rows: Int, length: Int): Array[Byte] = {
    val builder = new FlatBufferBuilder(1024)
    val ints = padded(4 * rows)
    val longs = 8 * rows
    val sizes = Seq(0, 0, ints, 0, ints, 0, ints, 0, longs, 0, longs, 0, padded(4 * (rows + 1)), length)
    RecordBatch.startNodesVector(builder, 1 + ChunkRow.NumFields)
    (0 to ChunkRow.NumFields).foreach(_ => FieldNode.createFieldNode(builder, rows, 0))
    val nodes = builder.endVector()
    val starts = sizes.scanLeft(0L)(_ + _)
    RecordBatch.startBuffersVector(builder, sizes.length)
    sizes.indices.reverse.foreach(i => Buffer.createBuffer(builder, starts(i), sizes(i)))
    val buffers = builder.endVector()
    RecordBatch.startRecordBatch(builder)
    RecordBatch.addLength(builder, rows)
    RecordBatch.addNodes(builder, nodes)
    RecordBatch.addBuffers(builder, buffers)
    val batch = RecordBatch.endRecordBatch(builder)
    Message.startMessage(builder)
    Message.addHeaderType(builder, MessageHeader.RecordBatch)
    Message.addHeader(builder, batch)
    Message.addVersion(builder, MetadataVersion.V5)
    Message.addBodyLength(builder, fixedBytes(rows).toLong + padded(length))
    builder.finish(Message.endMessage(builder))
    val metadata = builder.dataBuffer()
    val made = ByteBuffer.allocate(8 + padded(metadata.remaining)).order(ByteOrder.LITTLE_ENDIAN)
    made.putInt(-1).putInt(padded(metadata.remaining)).put(metadata)
    made.array
  }
}

private object ChunkMessages {
  private val MaxRows = 256
  private val MaxBytes = 1 << 20
  /** From so many bytes on, a copy costs more than a message. */
  private val LeastAlone = 1 << 16
  private val Zeros = new Array[Byte](8)

  /** The fields of a chunk row but its data. */
  private class Head {
    var partition, driver, sender, length = 0
    var sequence, rows = 0L

    def read(row: UnsafeRow, bytes: Int): Unit = {
      partition = row.getInt(ChunkRow.Partition)
      driver = row.getInt(1)
      sender = row.getInt(2)
      sequence = row.getLong(3)
      rows = row.getLong(ChunkRow.Rows)
      length = bytes
    }
  }

  private def padded(bytes: Int): Int = (bytes + 7) & ~7

  private def pad(body: ByteBuffer): Unit = body.position(padded(body.position()))

  /** Return the bytes of the columns before the data. */
  private def fixedBytes(rows: Int): Int = 3 * padded(4 * rows) + 2 * 8 * rows + padded(4 * (rows + 1))
}
