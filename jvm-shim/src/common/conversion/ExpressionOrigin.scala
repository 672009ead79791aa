package org.apache.spark.sql.pysparkpipeline

import java.util.Locale

import org.apache.spark.{QueryContext, QueryContextType}
import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.analysis.FunctionRegistry
import org.apache.spark.sql.catalyst.expressions.{Alias, Cast, Expression, NamedExpression}

/** Returns the names of expressions as the user wrote them, and their locations in the program, from Spark's query contexts. */
object ExpressionOrigin {

  /** The longest text of an expression in a reason, in characters. */
  private val MaxText = 80

  /** Names that Spark's optimizer gives to columns. */
  private val Generated = "_(common_expr|gen_alias)_\\d+".r

  /** The context of an expression that the analyzer made is a whole query. */
  private val Query = "(?is)(select|with|from)\\b.*".r

  /** A call, as the whole of an expression or with an alias. */
  private val Call = """(?is)\s*(\w+)\s*\((.*)\)(?:\s+(?:as\s+)?\w+)?\s*""".r

  /** Return the name of the function that the user called for `e`, else that of its class in SQL, else in Catalyst. */
  def name(e: Expression): String = names(e).head

  /**
   * Return all names of `e`, first the user's. The optimizer replaces some functions by others: `median` by Percentile.
   * The text of a cast or an alias may be the call below it.
   */
  def names(e: Expression): Seq[String] = {
    val user = if (e.isInstanceOf[Cast] || e.isInstanceOf[Alias]) None else context(e).flatMap(called)
    val inSql = Some(e.prettyName.toLowerCase(Locale.ROOT)).filter(isFunction)
    (user ++ inSql).toSeq :+ FunctionCall.of(e).name
  }

  /** Return whether Spark knows the line of the Python program that made `e`. */
  def hasLine(e: Expression): Boolean = callSite(e).nonEmpty

  /**
   * Return the column that `top` computes and the location of its part `e`, which `around` contains; "" if neither is known.
   * Spark knows the lines of operators of columns, not of the functions that a program calls.
   */
  def location(e: Expression, around: Expression, top: Expression): String = {
    val found = context(e)
    val text = found.filter(isSql).map(c => c.fragment.replaceAll("\\s+", " ").trim).filterNot(t => t.isEmpty || Query.matches(t))
    val column = Some(top).collect {
      case n: NamedExpression if !n.name.contains("(") && !Generated.matches(n.name) => s"column ${n.name}"
    }
    val line =
      if (found.exists(isSql)) e.origin.line.map(number => s"line $number")
      else callSite(around)
    val shown = text.map(t => if (t.length > MaxText) t.take(MaxText) + "..." else t)
    (Seq((column ++ line).mkString(", ")).filter(_.nonEmpty) ++ shown).mkString(": ")
  }

  /** Return the first of `locations` in parentheses, and the number of the others; "" if none is known. */
  def listed(locations: Seq[String]): String = locations.filter(_.nonEmpty).distinct match {
    case Nil => ""
    case Seq(one) => s" ($one)"
    case first +: others => s" ($first; ${others.length} more)"
  }

  private def context(e: Expression): Option[QueryContext] = e.origin.getQueryContext.headOption

  private def isSql(c: QueryContext): Boolean = c.contextType == QueryContextType.SQL

  /** Return the line of the Python program that made `e`; other programs have calls of Java methods here. */
  private def callSite(e: Expression): Option[String] =
    context(e).filterNot(isSql).map(_.callSite).filter(site => site.nonEmpty && !site.contains("("))

  private def called(c: QueryContext): Option[String] = (c.fragment match {
    case Call(function, arguments) if isBalanced(arguments) => Some(function)
    case plain if !isSql(c) => Some(plain)
    case _ => None
  }).map(_.toLowerCase(Locale.ROOT)).filter(isFunction)

  /** Return whether no parenthesis closes one that `text` does not open: `a(b) || c(d)` is no call of `a`. */
  private def isBalanced(text: String): Boolean =
    text.scanLeft(0)((open, c) => if (c == '(') open + 1 else if (c == ')') open - 1 else open).forall(_ >= 0)

  private def isFunction(name: String): Boolean = FunctionRegistry.builtin.functionExists(FunctionIdentifier(name))
}
