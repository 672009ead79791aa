package org.apache.spark.sql.pysparkpipeline

import java.io._
import java.lang.ref.Cleaner
import java.nio.{ByteBuffer, ByteOrder}
import java.nio.file.Files

import org.apache.spark.{SparkEnv, TaskContext}
import org.apache.spark.api.python.PythonBroadcast
import org.apache.spark.io.CompressionCodec
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.util.Utils

/**
 * The chunks of one partition as a task result: counts of rows and of uncompressed bytes, then the compressed
 * records. Task results are byte arrays, because Kryo may require registration of any other class.
 */
class BroadcastPart(result: Array[Byte]) {
  private val counts = ByteBuffer.wrap(result)

  def rows: Long = counts.getLong(0)
  def bytes: Long = counts.getLong(8)
  def records: InputStream =
    new ByteArrayInputStream(result, BroadcastPart.HeaderBytes, result.length - BroadcastPart.HeaderBytes)
}

object BroadcastPart {
  val HeaderBytes = 16
}

/**
 * The file behind a broadcast of chunks. Spark transfers it to each executor and passes its path (with encryption: its
 * content) to Python workers, which expect one pickled object. So the file is a pickle: a list of `bytes`, each the
 * Arrow message of one chunk (pickle protocol 4: `]`, `(`, then BINBYTES8 records, `e`, `.`).
 */
object BroadcastFile {
  private val Protocol = Array(0x80.toByte, 4.toByte, ']'.toByte, '('.toByte)
  private val Record = 0x8e
  private val End = Array('e'.toByte, '.'.toByte)
  private val LengthBytes = 8

  private val cleaner = Cleaner.create()

  /** Compresses the chunk rows of a partition in a task. */
  object Pack extends PartitionFunction[InternalRow, Array[Byte]] {
    override def apply(context: TaskContext, chunks: Iterator[InternalRow]): Array[Byte] = pack(chunks)
  }

  /** Compress the chunk rows of a partition behind a header of their number and size. */
  private def pack(chunks: Iterator[InternalRow]): Array[Byte] = {
    val bytes = new ByteArrayOutputStream()
    bytes.write(new Array[Byte](BroadcastPart.HeaderBytes))
    val out = codec.compressedOutputStream(bytes)
    var rows = 0L
    var size = 0L
    chunks.foreach { row =>
      val data = row.getBinary(ChunkRow.Data)
      rows += row.getLong(ChunkRow.Rows)
      size += data.length
      out.write(Record)
      out.write(littleEndian.putLong(data.length).array())
      out.write(data)
    }
    out.close()
    val result = bytes.toByteArray
    ByteBuffer.wrap(result).putLong(0, rows).putLong(8, size)
    result
  }

  /** Write the parts in order to a file on the driver; the file lives as long as the returned broadcast. */
  def write(parts: Iterator[BroadcastPart]): PythonBroadcast = {
    val file = Files.createTempFile(new File(Utils.getLocalDir(SparkEnv.get.conf)).toPath, "broadcast", "").toFile
    try {
      val out = SparkEnv.get.serializerManager.wrapForEncryption(
        new BufferedOutputStream(new FileOutputStream(file)): OutputStream)
      Utils.tryWithSafeFinally {
        out.write(Protocol)
        parts.foreach(p => Utils.copyStream(codec.compressedInputStream(p.records), out))
        out.write(End)
      } {
        out.close()
      }
    } catch {
      case e: Throwable =>
        file.delete()
        throw e
    }
    val broadcast = new PythonBroadcast(file.getAbsolutePath)
    cleaner.register(broadcast, new Removal(file))
    broadcast
  }

  /** Call `use` with the messages in the file at `path`; `use` must not keep the iterator. */
  def read[T](path: String)(use: Iterator[Array[Byte]] => T): T = {
    val in = new DataInputStream(SparkEnv.get.serializerManager.wrapForEncryption(
      new BufferedInputStream(new FileInputStream(path)): InputStream))
    Utils.tryWithSafeFinally {
      in.readFully(new Array[Byte](Protocol.length))
      use(Iterator.continually(in.readUnsignedByte()).takeWhile(_ == Record).map(_ => message(in)))
    } {
      in.close()
    }
  }

  private def message(in: DataInputStream): Array[Byte] = {
    val length = littleEndian
    in.readFully(length.array())
    val data = new Array[Byte](Math.toIntExact(length.getLong(0)))
    in.readFully(data)
    data
  }

  private def littleEndian: ByteBuffer = ByteBuffer.allocate(LengthBytes).order(ByteOrder.LITTLE_ENDIAN)

  private def codec: CompressionCodec = CompressionCodec.createCodec(SparkEnv.get.conf)

  /** Deletes the file; it must not reference the broadcast whose end it awaits. */
  private class Removal(file: File) extends Runnable {
    override def run(): Unit = file.delete()
  }
}
