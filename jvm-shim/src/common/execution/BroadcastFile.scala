package org.apache.spark.sql.pysparkpipeline

import java.io._
import java.lang.ref.Cleaner
import java.nio.{ByteBuffer, ByteOrder}
import java.nio.file.Files

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode

import org.apache.spark.{SparkContext, SparkEnv, TaskContext}
import org.apache.spark.api.python.PythonBroadcast
import org.apache.spark.internal.config.IO_ENCRYPTION_ENABLED
import org.apache.spark.io.CompressionCodec
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.util.{CompletionIterator, Utils}

/**
 * The chunks of one partition as a task result: counts of rows and of uncompressed bytes, then the compressed records, or
 * JSON that names the file of the messages. Task results are byte arrays, because Kryo may require registration of any
 * other class.
 */
class BroadcastPart(result: Array[Byte]) {
  private val counts = ByteBuffer.wrap(result)

  def rows: Long = counts.getLong(0)
  def bytes: Long = counts.getLong(8)
  def content: InputStream =
    new ByteArrayInputStream(result, BroadcastPart.HeaderBytes, result.length - BroadcastPart.HeaderBytes)
}

object BroadcastPart {
  val HeaderBytes = 16

  def of(rows: Long, bytes: Long, content: ByteArrayOutputStream): Array[Byte] = {
    val result = new ByteArrayOutputStream(HeaderBytes + content.size)
    result.write(ByteBuffer.allocate(HeaderBytes).putLong(rows).putLong(bytes).array())
    content.writeTo(result)
    result.toByteArray
  }
}

/** How tasks return the chunks of a broadcast, and how the driver writes them to the pickled list of the broadcast. */
sealed trait BroadcastTransfer {

  /** Returns the chunk rows of a partition as a [[BroadcastPart]]. */
  def pack: PartitionFunction[InternalRow, Array[Byte]]

  /** Write the list's records of a part. */
  def write(part: BroadcastPart, out: OutputStream): Unit
}

/** Packs the chunks of a partition, which it counts. */
private abstract class PackPart extends PartitionFunction[InternalRow, Array[Byte]] {

  /** Write messages; return what the result has behind the counts. */
  protected def write(messages: Iterator[Array[Byte]]): ByteArrayOutputStream

  override def apply(context: TaskContext, chunks: Iterator[InternalRow]): Array[Byte] = {
    var (rows, size) = (0L, 0L)
    val content = write(chunks.map { row =>
      val data = row.getBinary(ChunkRow.Data)
      rows += row.getLong(ChunkRow.Rows)
      size += data.length
      data
    })
    BroadcastPart.of(rows, size, content)
  }
}

/** The chunks come to the driver compressed; Spark transfers them to the executors. */
private object ThroughDriver extends BroadcastTransfer {

  override object pack extends PackPart {
    override protected def write(messages: Iterator[Array[Byte]]): ByteArrayOutputStream = {
      val content = new ByteArrayOutputStream()
      val out = codec.compressedOutputStream(content)
      messages.foreach(Pickle.writeBytes(_, out))
      out.close()
      content
    }
  }

  override def write(part: BroadcastPart, out: OutputStream): Unit =
    Utils.copyStream(codec.compressedInputStream(part.content), out)

  private def codec: CompressionCodec = CompressionCodec.createCodec(SparkEnv.get.conf)
}

/** All tasks run on the driver's machine: each writes its chunks to a file in `folder`, which workers map. */
private class LocalParts(folder: File) extends BroadcastTransfer {

  override val pack: PartitionFunction[InternalRow, Array[Byte]] = new WritePart(folder)

  override def write(part: BroadcastPart, out: OutputStream): Unit = Pickle.writeText(part.content.readAllBytes(), out)
}

private class WritePart(folder: File) extends PackPart {

  override protected def write(messages: Iterator[Array[Byte]]): ByteArrayOutputStream = {
    val file = Files.createTempFile(folder.toPath, "part", "")
    val description = Json.obj().put("path", file.toString)
    val lengths = description.putArray("lengths")
    Utils.tryWithResource(new BufferedOutputStream(Files.newOutputStream(file), WritePart.BufferBytes)) { out =>
      messages.foreach { data =>
        lengths.add(data.length)
        out.write(data)
        out.write(WritePart.Padding, 0, WritePart.padding(data.length))
      }
    }
    val content = new ByteArrayOutputStream()
    content.write(Manifest.mapper.writeValueAsBytes(description))
    content
  }
}

private object WritePart {
  val BufferBytes: Int = 1 << 18

  /** Each message begins at a multiple of as many bytes as Arrow aligns to. */
  private val Alignment = 64
  val Padding = new Array[Byte](Alignment)

  def padding(length: Int): Int = (Alignment - length % Alignment) % Alignment
}

/** Records of a pickled list (protocol 4: `]`, `(`, then BINBYTES8 or BINUNICODE8 records, `e`, `.`). */
private object Pickle {
  val Begin: Array[Byte] = Array(0x80.toByte, 4.toByte, ']'.toByte, '('.toByte)
  val End: Array[Byte] = Array('e'.toByte, '.'.toByte)
  val Bytes = 0x8e
  val Text = 0x8d
  private val LengthBytes = 8

  def writeBytes(data: Array[Byte], out: OutputStream): Unit = write(Bytes, data, out)

  def writeText(utf8: Array[Byte], out: OutputStream): Unit = write(Text, utf8, out)

  private def write(kind: Int, data: Array[Byte], out: OutputStream): Unit = {
    out.write(kind)
    out.write(littleEndian.putLong(data.length).array())
    out.write(data)
  }

  /** Read the kind of the next record and its data; None at the end. */
  def read(in: DataInputStream): Option[(Int, Array[Byte])] = in.readUnsignedByte() match {
    case kind @ (Bytes | Text) =>
      val length = littleEndian
      in.readFully(length.array())
      val data = new Array[Byte](Math.toIntExact(length.getLong(0)))
      in.readFully(data)
      Some(kind -> data)
    case _ => None
  }

  private def littleEndian: ByteBuffer = ByteBuffer.allocate(LengthBytes).order(ByteOrder.LITTLE_ENDIAN)
}

/**
 * The file behind a broadcast of chunks. Spark transfers it to each executor and passes its path (with encryption: its
 * content) to Python workers, which expect one pickled object. So the file is a pickle: a list of `bytes`, each the
 * Arrow message of one chunk, or of JSON texts, each with the path of a file of messages and their lengths.
 *
 * It is in a folder of its own on the driver, with the files that it names; the folder lives as long as the object that
 * [[write]] returns.
 */
class BroadcastFile(sc: SparkContext) {
  private val folder = Files.createTempDirectory(new File(Utils.getLocalDir(sc.conf)).toPath, "broadcast").toFile

  val transfer: BroadcastTransfer =
    if (sc.isLocal && !sc.conf.get(IO_ENCRYPTION_ENABLED)) new LocalParts(folder) else ThroughDriver

  /** Write the parts in order. */
  def write(parts: Array[BroadcastPart]): PythonBroadcast = {
    val file = Files.createTempFile(folder.toPath, "list", "").toFile
    val out = SparkEnv.get.serializerManager.wrapForEncryption(
      new BufferedOutputStream(new FileOutputStream(file)): OutputStream)
    Utils.tryWithSafeFinally {
      out.write(Pickle.Begin)
      parts.foreach(transfer.write(_, out))
      out.write(Pickle.End)
    } {
      out.close()
    }
    val broadcast = new PythonBroadcast(file.getAbsolutePath)
    BroadcastFile.cleaner.register(broadcast, new BroadcastFile.Removal(folder))
    broadcast
  }

  /** Remove the folder of a broadcast that failed. */
  def remove(): Unit = new BroadcastFile.Removal(folder).run()
}

object BroadcastFile {
  private val cleaner = Cleaner.create()

  /** Call `use` with the messages of the file at `path`; `use` must not keep the iterator. */
  def read[T](path: String)(use: Iterator[Array[Byte]] => T): T = {
    val in = new DataInputStream(SparkEnv.get.serializerManager.wrapForEncryption(
      new BufferedInputStream(new FileInputStream(path)): InputStream))
    Utils.tryWithSafeFinally {
      in.readFully(new Array[Byte](Pickle.Begin.length))
      use(Iterator.continually(Pickle.read(in)).takeWhile(_.isDefined).flatten.flatMap {
        case (Pickle.Text, json) => partMessages(Manifest.mapper.readTree(json))
        case (_, message) => Iterator.single(message)
      })
    } {
      in.close()
    }
  }

  /** Return the messages of a file of a partition. */
  private def partMessages(description: JsonNode): Iterator[Array[Byte]] = {
    val in = new DataInputStream(new BufferedInputStream(new FileInputStream(description.get("path").asText)))
    val lengths = description.get("lengths").elements().asScala.map(_.asInt)
    val messages = lengths.map { length =>
      val data = new Array[Byte](length)
      in.readFully(data)
      in.skipNBytes(WritePart.padding(length))
      data
    }
    CompletionIterator[Array[Byte], Iterator[Array[Byte]]](messages, in.close())
  }

  /** Deletes a folder; it must not reference the broadcast whose end it awaits. */
  private class Removal(folder: File) extends Runnable {
    /** A task of a failed job may write into it once more; Spark deletes its local directories at its end. */
    override def run(): Unit = {
      Option(folder.listFiles()).foreach(_.foreach(_.delete()))
      folder.delete()
    }
  }
}
