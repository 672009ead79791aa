package org.apache.spark.sql.pysparkpipeline

/** Writes the pickle of `(module.name(text), return type)`, which Spark's worker reads as a function and its type. */
object PickledCall {
  def command(module: String, name: String, text: String, typeJson: String): Array[Byte] = {
    val out = new java.io.ByteArrayOutputStream()
    def op(code: Char): Unit = out.write(code.toInt)
    def global(m: String, n: String): Unit = out.write(s"c$m\n$n\n".getBytes("UTF-8"))
    def string(s: String): Unit = {
      val bytes = s.getBytes("UTF-8")
      op('X')
      out.write(java.nio.ByteBuffer.allocate(4).order(java.nio.ByteOrder.LITTLE_ENDIAN).putInt(bytes.length).array())
      out.write(bytes)
    }
    def applyToOne(): Unit = { out.write(0x85); op('R') }
    out.write(0x80)
    out.write(2)
    global(module, name)
    string(text)
    applyToOne()
    global("pyspark.sql.types", "_parse_datatype_json_string")
    string(typeJson)
    applyToOne()
    out.write(0x86)
    op('.')
    out.toByteArray
  }
}
