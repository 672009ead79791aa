package org.apache.spark.sql.pysparkpipeline

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types.{BooleanType, StringType}
import org.apache.spark.unsafe.types.UTF8String

/** `LIKE ALL` and `LIKE ANY` of many patterns, as conjunctions and disjunctions: so Spark itself plans few patterns. */
object PatternLists {

  def unapply(e: Expression): Option[Expression] = e match {
    case LikeAll(text, patterns) => Some(joined(patterns.map(like(text, _)), And(_, _)))
    case NotLikeAll(text, patterns) => Some(joined(patterns.map(notLike(text, _)), And(_, _)))
    case LikeAny(text, patterns) => Some(joined(patterns.map(like(text, _)), Or(_, _)))
    case NotLikeAny(text, patterns) => Some(joined(patterns.map(notLike(text, _)), Or(_, _)))
    case _ => None
  }

  /** Join the parts by a tree of few levels. */
  private def joined(parts: Seq[Expression], join: (Expression, Expression) => Expression): Expression =
    if (parts.length == 1) parts.head
    else {
      val (left, right) = parts.splitAt(parts.length / 2)
      join(joined(left, join), joined(right, join))
    }

  private def like(text: Expression, pattern: UTF8String): Expression =
    if (pattern == null) Literal(null, BooleanType) else Like(text, Literal(pattern, StringType), '\\')

  private def notLike(text: Expression, pattern: UTF8String): Expression = Not(like(text, pattern))
}
