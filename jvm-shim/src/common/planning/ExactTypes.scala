package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.types._

/** Types of which equal values are the same, so that it does not matter which is the least. 0.0 and -0.0 are equal. */
object ExactTypes {

  def contain(dataType: DataType): Boolean = !dataType.existsRecursively {
    case FloatType | DoubleType => true
    case s: StringType => !s.supportsBinaryEquality
    case _ => false
  }

  /** Return whether these types contain `dataType`, and it has no elements or fields. */
  def containFlat(dataType: DataType): Boolean = dataType.isInstanceOf[AtomicType] && contain(dataType)
}
