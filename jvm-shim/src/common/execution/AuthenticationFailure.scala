package org.apache.spark.sql.pysparkpipeline

import java.security.GeneralSecurityException
import javax.crypto.Cipher
import javax.crypto.spec.{GCMParameterSpec, SecretKeySpec}

import org.apache.spark.SparkException
import org.apache.spark.sql.errors.QueryExecutionErrors

/** The errors of encrypted bytes that are not authentic, whose class and text differ between releases of Java. */
object AuthenticationFailure {
  private val TagBits = 128
  private val IvBytes = 12
  private val KeyBytes = 16

  /** Return the exception of Spark for `length` bytes: Java's own for as many zeros, which are not authentic either. */
  def of(length: Int): Throwable = try {
    val cipher = Cipher.getInstance("AES/GCM/NoPadding")
    val key = new SecretKeySpec(new Array[Byte](KeyBytes), "AES")
    cipher.init(Cipher.DECRYPT_MODE, key, new GCMParameterSpec(TagBits, new Array[Byte](IvBytes)))
    cipher.doFinal(new Array[Byte](length), 0, length)
    new SparkException("zeros are authentic")
  } catch {
    case e: GeneralSecurityException => QueryExecutionErrors.aesCryptoError(e.getMessage)
    case e: RuntimeException => e
  }
}
