package org.apache.spark.sql.pysparkpipeline

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.sql.execution.datasources.{FilePartition, PartitionedFile}

/**
 * Divides the files of Spark's `partitions`, in their order, among tasks of which the last are shorter than the first:
 * a task gets a share of the bytes that are left, of `most` partitions at most, of `leastBytes` at least. A file counts
 * `openingBytes` more, as where Spark makes partitions. `atOnce` tasks run at the same time. If not `canCut`, the files
 * of a partition stay together.
 */
class TaskSplits(
    partitions: Seq[FilePartition], openingBytes: Long, most: Int, leastBytes: Long, atOnce: Int, canCut: Boolean) {

  private val total = partitions.iterator.map(p => bytes(p.files.toSeq)).sum
  private val longest = math.max(1L, (total.toDouble * most / partitions.length).toLong)
  private val shortest = math.min(leastBytes, longest)
  private val tolerance = shortest / 4

  private val made = ArrayBuffer.empty[Seq[PartitionedFile]]
  private val files = ArrayBuffer.empty[PartitionedFile]
  private var left = total
  private var room = nextBytes

  /** Return the files of each task. */
  def tasks: Seq[Seq[PartitionedFile]] = {
    partitions.foreach(p => if (canCut) p.files.foreach(file => add(Seq(file))) else add(p.files.toSeq))
    endTask()
    made.toSeq
  }

  private def add(piece: Seq[PartitionedFile]): Unit = {
    val size = bytes(piece)
    val canCutHere = canCut && room > openingBytes + tolerance
    if (size <= room + tolerance || (files.isEmpty && !canCutHere)) {
      put(piece)
      if (room <= tolerance) endTask()
    } else if (canCutHere) {
      val file = piece.head
      val length = room - openingBytes
      put(Seq(file.copy(length = length)))
      left += openingBytes // the rest counts them again
      endTask()
      add(Seq(file.copy(start = file.start + length, length = file.length - length)))
    } else {
      endTask()
      add(piece)
    }
  }

  private def put(piece: Seq[PartitionedFile]): Unit = {
    files ++= piece
    room -= bytes(piece)
    left -= bytes(piece)
  }

  private def endTask(): Unit = {
    if (files.nonEmpty) made += files.toSeq
    files.clear()
    room = nextBytes
  }

  /**
   * Return the bytes of the next task: half as many again as run at once would read what is left. A task that runs alone
   * need not end with others.
   */
  private def nextBytes: Long = {
    val share = math.max(shortest, math.min(longest, if (atOnce == 1) left else left * 2 / (3L * atOnce)))
    if (left - share < shortest / 2) math.max(left, shortest) else share
  }

  private def bytes(files: Seq[PartitionedFile]): Long = files.iterator.map(_.length + openingBytes).sum
}
