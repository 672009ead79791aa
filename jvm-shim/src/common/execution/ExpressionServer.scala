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
import org.apache.spark.sql.catalyst.expressions.{Expression, GenericInternalRow, MutableProjection, SpecificInternalRow}
import org.apache.spark.sql.catalyst.expressions.aggregate.TypedImperativeAggregate
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{DataType, StructField, StructType}
import org.apache.spark.sql.vectorized.ColumnarBatch

/** What the worker of a task may ask the JVM to compute over chunks of `inputs`: a chunk of `result`. */
trait JvmCall extends Serializable {
  def inputs: StructType
  def result: StructType
}

object JvmCall {
  def result(t: DataType): StructType = StructType(Seq(StructField("value", t)))

  /** Return the schema of the values of `expressions`. */
  def fields(expressions: Seq[Expression]): StructType = StructType(expressions.zipWithIndex.map { case (e, i) =>
    StructField(s"c$i", e.dataType, e.nullable)
  })
}

/**
 * Evaluates expressions and aggregate functions of a fragment by Spark's code, for the worker of one task. The worker connects to a port of this
 * host's own address, once for each thread, and sends the secret of the control message; then requests one by one: the
 * number of a call, the bytes of a message, and the message with the chunk of the call's columns (integers in network
 * order). The answer is a zero byte, the bytes of a message and the message with the chunk of results; or a one and the
 * number of the [[failure]] that the first failing row raised. Calls see the settings of the session that planned them: those
 * that Spark passes to tasks are not there in every action (`df.rdd`).
 */
class ExpressionServer(
    calls: Array[JvmCall],
    settings: Map[String, String],
    context: TaskContext,
    rows: SQLMetric,
    time: SQLMetric) extends Logging {

  private val conf = new SQLConf
  settings.foreach { case (key, value) => conf.setConfString(key, value) }
  private val secret = new Array[Byte](32)
  new SecureRandom().nextBytes(secret)
  private val failures = mutable.LinkedHashMap.empty[Int, Throwable]
  private var failed = 0
  private val evaluated, spent = new LongAdder
  private val buffers = new java.util.IdentityHashMap[JvmAggregateCall, AggregateBuffers]
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
    val evaluators = new Array[ChunkEvaluator](calls.length)
    TaskContext.setTaskContext(context)
    try {
      if (MessageDigest.isEqual(in.readNBytes(secret.length), secret)) SQLConf.withExistingConf(conf)(while (!isClosed) {
        val number = in.readInt()
        val message = in.readNBytes(in.readInt())
        val began = System.nanoTime()
        try {
          if (evaluators(number) == null) evaluators(number) = evaluator(calls(number))
          val (count, result) = evaluators(number).evaluate(message)
          evaluated.add(count.toLong * calls(number).result.length)
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
      })
    } finally {
      evaluators.filter(_ != null).foreach(_.close())
      TaskContext.unset()
      socket.close()
    }
  }

  private def evaluator(call: JvmCall): ChunkEvaluator = call match {
    case e: JvmExpressionCall => new ExpressionEvaluator(fresh(e))
    case step: JvmStep => new StepEvaluator(step, buffersOf(step.aggregate))
  }

  /** Return a copy of `call`: expressions may have a state, which threads do not share. */
  private def fresh(call: JvmExpressionCall): JvmExpressionCall = {
    val serializer = SparkEnv.get.closureSerializer.newInstance()
    serializer.deserialize[JvmExpressionCall](serializer.serialize(call), loader)
  }

  /** Return the buffers of a function, which all threads share. */
  private def buffersOf(call: JvmAggregateCall): AggregateBuffers = buffers.synchronized {
    buffers.computeIfAbsent(call, _ => new AggregateBuffers(call.function.asInstanceOf[TypedImperativeAggregate[AnyRef]]))
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

/** Evaluates a call over chunks. Nested types are copied to Spark's own rows: Spark cannot copy columnar arrays. */
private abstract class ChunkEvaluator(call: JvmCall) extends AutoCloseable {
  private val reader = new ChunkReader(call.inputs, ArrowChunks.allocator("pysparkpipeline arguments"))
  private val encoder = new RowEncoder(call.result, ArrowChunks.allocator("pysparkpipeline results"))
  protected val copied: InternalRow => InternalRow =
    if (call.inputs.forall(field => Support.isSupported(field.dataType))) identity else new RowProjection(call.inputs)

  /** Return the number of rows of the chunk in `message`, and the message with the chunk of results. */
  def evaluate(message: Array[Byte]): (Int, Array[Byte]) = {
    val batch = reader.read(message)
    (batch.numRows(), encoder.encode(results(batch), Int.MaxValue)._2)
  }

  /** Return the rows of results, each valid until the next. */
  protected def results(batch: ColumnarBatch): Iterator[InternalRow]

  override def close(): Unit = try reader.close() finally encoder.close()
}

private class ExpressionEvaluator(call: JvmExpressionCall) extends ChunkEvaluator(call) {
  private val arguments = new GenericInternalRow(call.columns.length)
  private val readers = call.columns.map(c => InternalRow.getAccessor(c.dataType, c.nullable)).toArray
  private val result = new SpecificInternalRow(call.result)
  private val projection = MutableProjection.create(call.bound).target(result)

  override protected def results(batch: ColumnarBatch): Iterator[InternalRow] =
    Iterator.range(0, batch.numRows()).map { position =>
      read(copied(batch.getRow(position)))
      projection(arguments)
      result
    }

  /** Read each argument once, however many expressions read it. */
  private def read(row: InternalRow): Unit = {
    var i = 0
    while (i < readers.length) {
      arguments.update(i, readers(i)(row, i))
      i += 1
    }
  }
}

private class StepEvaluator(step: JvmStep, buffers: AggregateBuffers) extends ChunkEvaluator(step) {
  override def evaluate(message: Array[Byte]): (Int, Array[Byte]) = buffers.synchronized(super.evaluate(message))

  override protected def results(batch: ColumnarBatch): Iterator[InternalRow] = buffers.run(step, batch, copied)
}
