package org.apache.spark.sql.pysparkpipeline

/**
 * Which sine, cosine and tangent the driver's Java has. Its virtual machine may have code of its own for them, by
 * processor and by its flags, and no property says which. The executors' Java is taken to be the same.
 */
object JavaMath {

  /** The key of a condition in the manifest, like those of Java's properties. */
  val Key = "java.lang.Math.trigonometry"

  /** Return "Intel" for the functions of Intel's library, which HotSpot has on x86; else "other". */
  lazy val trigonometry: String = if (isIntel) "Intel" else "other"

  /** Arguments, of every reduction, whose results are not those of StrictMath, and not the nearest numbers either. */
  private def isIntel: Boolean =
    math.sin(1.622) == 0.9986893783134531 &&
      math.sin(1253.0) == 0.47544411284003446 &&
      math.sin(101191.0) == 0.2961199781292759 &&
      math.sin(4.4e40) == -0.20391928054353595 &&
      math.cos(1.416) == 0.15417886461532546 &&
      math.cos(1831.0) == -0.8532987071194856 &&
      math.cos(101732.0) == 0.5843711224140341 &&
      math.cos(9.1e41) == -0.1969912343839266 &&
      math.tan(0.08) == 0.08017110470807255 &&
      math.tan(1.768) == -5.004993844085434 &&
      math.tan(379.0) == -2.134729172700634 &&
      math.tan(101693.0) == -0.36979171412317774 &&
      math.tan(7.9e26) == -0.38095340925646765
}
