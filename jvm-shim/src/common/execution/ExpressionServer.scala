package org.apache.spark.sql.pysparkpipeline

import java.io._
import java.net.{InetAddress, InetSocketAddress, Socket}
import java.nio.channels.ServerSocketChannel
import java.security.{MessageDigest, SecureRandom}
import java.util.HexFormat
import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.atomic.LongAdder

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.node.ObjectNode

import org.apache.spark.{SparkEnv, TaskContext}
import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{MutableProjection, SpecificInternalRow}
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.vectorized.ColumnarBatch

/**
 * Evaluates expressions of a fragment by Spark's code, for the worker of one task. The worker connects to a port of this
 * host's own address, once for each thread, and sends the secret of the control message; then requests one by one: the
 * number of a call, the bytes of a message, and the message with the chunk of the call's columns (integers in network
 * order). The answer is a zero byte, the bytes of a message and the message with the chunk of results; or a one and the
 * number of the [[failure]] that the first failing row raised.
 */
class ExpressionServer(calls: Array[JvmCall], context: TaskContext, rows: SQLMetric, time: SQLMetric) extends Logging {

  private val secret = new Array[Byte](32)
  new SecureRandom().nextBytes(secret)
  private val failures = mutable.LinkedHashMap.empty[Int, Throwable]
  private var failed = 0
  private val evaluated, spent = new LongAdder
  private val opened = new ConcurrentLinkedQueue[AutoCloseable]
  private val threads = new ConcurrentLinkedQueue[Thread]
  private val loader = Thread.currentThread().getContextClassLoader
  private val server = ServerSocketChannel.open().bind(new InetSocketAddress(InetAddress.getLoopbackAddress, 0))
  private val address = server.getLocalAddress.asInstanceOf[InetSocketAddress]
  @volatile private var isClosed = false

  context.addTaskCompletionListener[Unit](_ => close())
  start("connections")(accept())

  /** The property of the control message by which the worker finds this server. */
  def control: ObjectNode = Json.obj().put("host", address.getAddress.getHostAddress).put("port", address.getPort)
    .put("secret", HexFormat.of().formatHex(secret))

  /** Return the error that an answer named. */
  def failure(number: Int): Throwable = failures.synchronized(failures(number))

  private def accept(): Unit = while (!isClosed) {
    val socket = server.accept().socket()
    opened.add(socket)
    if (isClosed) socket.close()
    else {
      socket.setTcpNoDelay(true)
      start("evaluation")(serve(socket))
    }
  }

  /** Start a thread. No error leaves it, since an executor exits then; the worker notices that its connection is closed. */
  private def start(what: String)(run: => Unit): Unit = {
    val thread = new Thread(() => try run catch {
      case _: EOFException => // the worker needs no more values
      case e: Throwable => if (!isClosed) logWarning(s"pyspark_pipeline: $what of expressions ended", e)
    }, s"pysparkpipeline $what of task ${context.taskAttemptId()}")
    thread.setDaemon(true)
    thread.setContextClassLoader(loader)
    threads.add(thread)
    thread.start()
  }

  private def serve(socket: Socket): Unit = {
    val in = new DataInputStream(new BufferedInputStream(socket.getInputStream))
    val out = new DataOutputStream(new BufferedOutputStream(socket.getOutputStream))
    val evaluators = new Array[ExpressionEvaluator](calls.length)
    TaskContext.setTaskContext(context)
    try {
      if (MessageDigest.isEqual(in.readNBytes(secret.length), secret)) while (!isClosed) {
        val number = in.readInt()
        val message = in.readNBytes(in.readInt())
        val began = System.nanoTime()
        try {
          if (evaluators(number) == null) evaluators(number) = new ExpressionEvaluator(fresh(calls(number)))
          val (count, result) = evaluators(number).evaluate(message)
          evaluated.add(count)
          out.writeByte(0)
          out.writeInt(result.length)
          out.write(result)
        } catch {
          case e: Throwable if !isClosed =>
            Option(evaluators(number)).foreach(_.close())
            evaluators(number) = null // what it has begun to build, as a map, would be in the next value
            out.writeByte(1)
            out.writeInt(fail(e))
        } finally spent.add(System.nanoTime() - began)
        out.flush()
      }
    } finally {
      evaluators.filter(_ != null).foreach(_.close())
      TaskContext.unset()
      socket.close()
    }
  }

  /** Return a copy of `call`: expressions may have a state, which threads do not share. */
  private def fresh(call: JvmCall): JvmCall = {
    val serializer = SparkEnv.get.closureSerializer.newInstance()
    serializer.deserialize[JvmCall](serializer.serialize(call), loader)
  }

  /** Keep an error; of those that the worker asked for no more, as it tried values that no row has, only the last. */
  private def fail(e: Throwable): Int = failures.synchronized {
    failed += 1
    failures(failed) = e
    if (failures.size > ExpressionServer.KeptFailures) failures -= failures.head._1
    failed
  }

  private def close(): Unit = {
    isClosed = true
    rows += evaluated.sum()
    time += spent.sum()
    server.close()
    opened.asScala.foreach(_.close())
    threads.asScala.foreach(_.interrupt())
  }
}

private object ExpressionServer {

  /** More than one chunk makes while the engine looks for its first failing row. */
  val KeptFailures = 1024
}

/** Evaluates a call over chunks. Arguments of nested types are copied to Spark's own rows: Spark cannot copy columnar arrays. */
private class ExpressionEvaluator(call: JvmCall) extends AutoCloseable {
  private val reader = new ChunkReader(call.inputs, ArrowChunks.allocator("pysparkpipeline arguments"))
  private val encoder = new RowEncoder(call.result, ArrowChunks.allocator("pysparkpipeline results"))
  private val result = new SpecificInternalRow(call.result)
  private val arguments: InternalRow => InternalRow =
    if (call.inputs.forall(field => Support.isSupported(field.dataType))) identity else new RowProjection(call.inputs)
  private val projection = MutableProjection.create(Seq(call.bound)).target(result)

  /** Return the number of rows of the chunk in `message`, and the message with the chunk of their results. */
  def evaluate(message: Array[Byte]): (Int, Array[Byte]) = {
    val rows = new Evaluated(reader.read(message))
    encoder.encode(rows, Int.MaxValue)
  }

  private class Evaluated(batch: ColumnarBatch) extends Iterator[InternalRow] {
    private val count = batch.numRows()
    private var position = 0

    override def hasNext: Boolean = position < count

    override def next(): InternalRow = {
      projection(arguments(batch.getRow(position)))
      position += 1
      result
    }
  }

  override def close(): Unit = try reader.close() finally encoder.close()
}
