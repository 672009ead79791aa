package org.apache.spark.sql.pysparkpipeline

import com.fasterxml.jackson.databind.JsonNode

import org.apache.spark.sql.catalyst.expressions.{CaseWhen, Coalesce, Expression, If, Literal}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{ArrayType, DataType, MapType}

/** Compares expressions with the cases of the manifest, each of which is one supported form of a function. */
object CaseMatcher {

  /** Return the cases in `known` that `e` matches. */
  def matching(e: Expression, known: Seq[Manifest.Case]): Seq[Manifest.Case] = known.filter(fits(e, _))

  /** Return the reason against `e` if it matches a case in `known` but for a package that some Python does not have. */
  def missingPackage(e: Expression, known: Seq[Manifest.Case]): Option[String] =
    known.filter(isLike(e, _)).flatMap(missing).headOption.map { case (extra, name) =>
      s"needs the Python package $name: pip install 'pyspark-pipeline[$extra]'"
    }

  /**
   * Return the position of the first case in the manifest that the function `e` matches; None if it matches none. The
   * JSON has it, so that the worker uses the implementation of this case.
   */
  def position(e: Expression): Option[Int] =
    Manifest.expressions.get(FunctionCall.of(e).name).map(_.indexWhere(fits(e, _))).filter(_ >= 0)

  /** Return whether the engine computes `e`, which matches `c`, slower than Spark does. */
  def isSlower(e: Expression, c: Manifest.Case): Boolean = c.slower || c.regex.exists { regex =>
    FunctionCall.of(e).args.lift(regex.pattern).exists {
      case Literal(pattern, _) if pattern != null => RegexSupport.parse(pattern.toString).exists(_.isByPython)
      case _ => false
    }
  }

  private def fits(e: Expression, c: Manifest.Case): Boolean = isLike(e, c) && missing(c).isEmpty

  private def missing(c: Manifest.Case): Option[(String, String)] =
    c.packages.find { case (_, name) => !Readiness.has(name) }

  private def isLike(e: Expression, c: Manifest.Case): Boolean = {
    val call = FunctionCall.of(e)
    val types = call.args.map(_.dataType)
    lazy val fields: Map[String, JsonNode] = call.fields.toMap
    argsFit(types.map(Support.kind), c) &&
      c.children.forall { case (i, kinds) => types.lift(i).forall(Support.children(_).map(Support.kind).forall(kinds)) } &&
      c.leastChildren.forall { case (i, least) => types.lift(i).exists(Support.children(_).length >= least) } &&
      (!c.sameType || types.forall(DataType.equalsStructurally(_, types.head, ignoreNullability = true))) &&
      (c.result.isEmpty || c.result(Support.kind(e.dataType))) &&
      (c.keys.isEmpty || hasKeys(e.dataType, c.keys)) &&
      c.nullableElements.forall(types.lift(_).exists(mayHaveNull)) &&
      Support.precision(e.dataType) <= c.maxPrecision &&
      c.fieldValues.forall { case (k, allowed) => allowed(fields.get(k).fold("absent")(_.asText)) } &&
      c.fieldPatterns.forall { case (k, pattern) => fields.get(k).exists(v => matches(v.asText, pattern)) } &&
      c.settings.forall { case (k, allowed) => Settings.ofSpark(SQLConf.get, k).exists(allowed) } &&
      !c.withoutNaN.exists(i => call.args.lift(i).exists(_.exists(canBeOneNaN))) &&
      c.literals.forall(i => call.args.lift(i).exists(_.isInstanceOf[Literal])) &&
      c.patterns.forall { case (i, p) => call.args.lift(i).exists(literalMatches(_, p)) } &&
      c.choices.forall { case (i, p) => call.args.lift(i).exists(isConstant(_, matches(_, p), isChosen = true)) } &&
      c.regex.forall(regexFits(call.args, _))
  }

  private def regexFits(args: Seq[Expression], c: Manifest.Regex): Boolean = {
    val group = c.group.fold(Option(0))(args.lift(_).collect { case Literal(number: Int, _) => number })
    args.lift(c.pattern).exists(isConstant(_, text => RegexSupport.parse(text).exists { found =>
      (!c.full || found.leastLength > 0) && group.exists(found.hasGroup) &&
        c.replacement.forall(args.lift(_).exists(isConstant(_, found.hasReplacement, c.chosen)))
    }, c.chosen))
  }

  private def hasKeys(t: DataType, kinds: Set[String]): Boolean = t match {
    case m: MapType => kinds(Support.kind(m.keyType))
    case _ => false
  }

  private def mayHaveNull(t: DataType): Boolean = t match {
    case a: ArrayType => a.containsNull
    case _ => false
  }

  private def argsFit(kinds: Seq[String], c: Manifest.Case): Boolean =
    if (c.variadic && c.args.nonEmpty) {
      kinds.length >= c.args.length && kinds.zipWithIndex.forall { case (k, i) =>
        c.args(math.min(i, c.args.length - 1))(k)
      }
    } else {
      kinds.length == c.args.length && kinds.zip(c.args).forall { case (k, allowed) => allowed(k) }
    }

  /** Return whether `e` may be NaN and is one object in all rows: a set has it once. */
  private def canBeOneNaN(e: Expression): Boolean = e match {
    case Literal(value: Double, _) => value.isNaN
    case Literal(value: Float, _) => value.isNaN
    case other => ExpressionJson.isSubquery(other)
  }

  /** Return whether `e` is a constant that passes a test; `isChosen`: or NULL, or one of several constants in each row. */
  private def isConstant(e: Expression, test: String => Boolean, isChosen: Boolean): Boolean = e match {
    case Literal(null, _) => isChosen
    case Literal(value, _) => test(value.toString)
    case If(_, yes, no) if isChosen => Seq(yes, no).forall(isConstant(_, test, isChosen))
    case CaseWhen(branches, otherwise) if isChosen =>
      (branches.map(_._2) ++ otherwise).forall(isConstant(_, test, isChosen))
    case Coalesce(options) if isChosen => options.forall(isConstant(_, test, isChosen))
    case _ => false
  }

  private def literalMatches(e: Expression, pattern: String): Boolean = e match {
    case Literal(v, _) if v != null => matches(v.toString, pattern)
    case _ => false
  }

  private def matches(text: String, pattern: String): Boolean =
    java.util.regex.Pattern.compile(pattern, java.util.regex.Pattern.DOTALL).matcher(text).matches()
}
