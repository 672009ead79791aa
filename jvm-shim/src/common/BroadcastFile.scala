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

/** The chunks of one partition on their way to the driver: `records` is compressed, `bytes` counts the plain chunks. */
case class BroadcastPart(rows: Long, bytes: Long, records: Array[Byte])

/**
 * The file behind a broadcast of chunks. Spark carries it to each executor and hands its path, or under encryption
 * its content, to Python workers, which expect one pickled object. So the file is a pickle: a list of `bytes`,
 * each the Arrow message of one chunk (pickle protocol 4: `]`, `(`, then BINBYTES8 records, `e`, `.`).
 */
object BroadcastFile {
  private val Protocol = Array(0x80.toByte, 4.toByte, ']'.toByte, '('.toByte)
  private val Record = 0x8e
  private val End = Array('e'.toByte, '.'.toByte)
  private val LengthBytes = 8

  private val cleaner = Cleaner.create()

  /** In a task: the chunk rows of a partition as compressed records. A function here drags no large class along. */
  val pack: (TaskContext, Iterator[InternalRow]) => BroadcastPart = (_, chunks) => {
    val bytes = new ByteArrayOutputStream()
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
    BroadcastPart(rows, size, bytes.toByteArray)
  }

  /** On the driver: write the parts, in their order, to a file that lives as long as what is returned. */
  def write(parts: Iterator[BroadcastPart]): PythonBroadcast = {
    val file = Files.createTempFile(new File(Utils.getLocalDir(SparkEnv.get.conf)).toPath, "broadcast", "").toFile
    try {
      val out = SparkEnv.get.serializerManager.wrapForEncryption(
        new BufferedOutputStream(new FileOutputStream(file)): OutputStream)
      Utils.tryWithSafeFinally {
        out.write(Protocol)
        parts.foreach(p => Utils.copyStream(codec.compressedInputStream(new ByteArrayInputStream(p.records)), out))
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

  /** The messages in the file at `path`, one after another; `use` must be done with them when it returns. */
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

  /** Must not refer to what it waits for. */
  private class Removal(file: File) extends Runnable {
    override def run(): Unit = file.delete()
  }
}
