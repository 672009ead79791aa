package org.apache.spark.sql.pysparkpipeline

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types.{DoubleType, FloatType, StringType}

/** The outcomes of a comparison of two elements, one digit for each combination of states: 0 less, 1 equal, 2 greater. */
case class Comparison(outcomes: String)

/**
 * A sort of an array by a lambda that compares the same keys of two elements, which may read columns too, and is of
 * constants otherwise: then its outcome follows from the states of the keys, which are both NULL, the left NULL, the
 * right NULL, less, equal, greater.
 */
object ArrayComparators {

  private val MostKeys = 3
  private val States = 6

  /** The outcomes for less, equal and greater keys, in ascending and descending order. */
  private val Orders = Seq("012", "210")

  /** Return the sort by the keys of each element, which are lambdas; None if the comparison is of another kind. */
  def byKeys(sort: ArraySort): Option[FunctionCall] = sort.function match {
    case LambdaFunction(body, Seq(left: NamedLambdaVariable, right: NamedLambdaVariable), _) =>
      val comparator = new ArrayComparators(left, right)
      comparator.compiled(body).flatMap { outcome =>
        comparator.outcomes(outcome, sort.allowNullComparisonResult).map { outcomes =>
          val keys = comparator.keys.toSeq.map(LambdaFunction(_, Seq(left)))
          FunctionCall("ArraySort.byKeys", sort.argument +: keys, Seq(Comparison(outcomes)))
        }
      }
    case _ => None
  }

  /** Return whether `sort` compares the elements themselves, and only equal ones are equal for it. */
  def isOrderOfElements(sort: ArraySort): Boolean = byKeys(sort).exists {
    case FunctionCall(_, Seq(_, LambdaFunction(_: NamedLambdaVariable, _, _)), Seq(Comparison(outcomes))) =>
      Orders.contains(outcomes.drop(3))
    case _ => false
  }
}

/** One comparison, of the variables `left` and `right`. */
private class ArrayComparators(left: NamedLambdaVariable, right: NamedLambdaVariable) {
  import ArrayComparators._

  /** A value for the states of the keys; null is NULL. */
  private type Outcome = Array[Int] => Any

  /** The keys that the comparison reads, of the left variable. */
  val keys: ArrayBuffer[Expression] = ArrayBuffer.empty

  /** Return the outcomes for all states, of which the last key's vary fastest; None if one is NULL and may not be. */
  def outcomes(outcome: Outcome, allowsNull: Boolean): Option[String] =
    if (keys.isEmpty || keys.length > MostKeys) None
    else {
      val found = (0 until math.pow(States, keys.length).toInt).map { number =>
        val states = keys.indices.map(key => number / math.pow(States, keys.length - 1 - key).toInt % States).toArray
        val isPossible = keys.zip(states).forall { case (key, state) => key.nullable || state > 2 }
        if (!isPossible) Some(1) else outcome(states) match {
          case n: Int => Some(1 + Integer.signum(n))
          case _ => if (allowsNull) Some(1) else None
        }
      }
      if (found.forall(_.isDefined)) Some(found.flatten.mkString) else None
    }

  def compiled(e: Expression): Option[Outcome] = e match {
    case Literal(value, _) => Some(_ => value)
    case If(condition, yes, no) => branches(Seq(condition -> yes), Some(no))
    case CaseWhen(cases, otherwise) => branches(cases, otherwise)
    case Not(condition) => compiled(condition).map(c => states => c(states) match {
      case b: Boolean => !b
      case _ => null
    })
    case And(one, other) => connective(one, other, decided = false)
    case Or(one, other) => connective(one, other, decided = true)
    case IsNull(Key(key, isLeft)) => Some(states => isNull(states(key), isLeft))
    case IsNotNull(Key(key, isLeft)) => Some(states => !isNull(states(key), isLeft))
    case c: BinaryComparison => (c.left, c.right) match {
      case (Key(one, isLeft), Key(other, isOtherLeft)) if one == other && isLeft != isOtherLeft => order(c).map { test =>
        states => states(one) match {
          case 0 => if (c.isInstanceOf[EqualNullSafe]) true else null
          case 1 | 2 => if (c.isInstanceOf[EqualNullSafe]) false else null
          case state => test(if (isLeft) state - 4 else 4 - state)
        }
      }
      case _ => None
    }
    case _ => None
  }

  private def order(c: BinaryComparison): Option[Int => Boolean] = c match {
    case _: LessThan => Some(_ < 0)
    case _: LessThanOrEqual => Some(_ <= 0)
    case _: GreaterThan => Some(_ > 0)
    case _: GreaterThanOrEqual => Some(_ >= 0)
    case _: EqualTo | _: EqualNullSafe => Some(_ == 0)
    case _ => None
  }

  private def isNull(state: Int, isLeft: Boolean): Boolean = state == 0 || state == (if (isLeft) 1 else 2)

  private def branches(cases: Seq[(Expression, Expression)], otherwise: Option[Expression]): Option[Outcome] = {
    val made = cases.map { case (condition, value) => compiled(condition).zip(compiled(value)) }
    val last = otherwise.fold(Option[Outcome](_ => null))(compiled)
    if (made.exists(_.isEmpty)) None
    else last.map { rest =>
      states => made.flatten.collectFirst { case (condition, value) if condition(states) == true => value }.getOrElse(rest)(states)
    }
  }

  private def connective(one: Expression, other: Expression, decided: Boolean): Option[Outcome] =
    compiled(one).zip(compiled(other)).map { case (a, b) =>
      states => {
        val both = Seq(a(states), b(states))
        if (both.contains(decided)) decided else if (both.contains(null)) null else !decided
      }
    }

  /** The number of a key, and whether it is that of the left variable: what is made of one variable and cannot raise. */
  private object Key {
    def unapply(e: Expression): Option[(Int, Boolean)] = ofLeft(e).map { case (key, isLeft) =>
      val known = keys.indexWhere(_.semanticEquals(key))
      if (known < 0) keys += key
      (if (known < 0) keys.length - 1 else known, isLeft)
    }
  }

  private def ofLeft(e: Expression): Option[(Expression, Boolean)] = {
    val compared = Seq(left.exprId, right.exprId)
    e.collect { case v: NamedLambdaVariable if compared.contains(v.exprId) => v.exprId }.distinct match {
      case Seq(one) if e.deterministic && cannotRaise(e) =>
        Some(e.transform { case v: NamedLambdaVariable if v.exprId == right.exprId => left } -> (one == left.exprId))
      case _ => None
    }
  }

  private def cannotRaise(e: Expression): Boolean = e.children.forall(cannotRaise) && (e match {
    case _: NamedLambdaVariable | _: Attribute | _: Literal => true
    case _: GetStructField | _: Coalesce | _: If | _: CaseWhen | _: IsNull | _: IsNotNull | _: BinaryComparison => true
    case _: Length | _: Lower | _: Upper | _: String2TrimExpression | _: Substring | _: StringInstr | _: Levenshtein => true
    case _: Year | _: Month | _: DayOfMonth | _: DateDiff => true
    case c: Concat => c.dataType.isInstanceOf[StringType]
    case c: Cast => c.evalMode != EvalMode.ANSI || Cast.canUpCast(c.child.dataType, c.dataType)
    case _: Add | _: Subtract | _: Multiply if isFloating(e) => true
    case a: BinaryArithmetic => a.evalMode != EvalMode.ANSI
    case UnaryMinus(_, raises) => !raises || isFloating(e)
    case Abs(_, raises) => !raises || isFloating(e)
    case _ => false
  })

  private def isFloating(e: Expression): Boolean = e.dataType == DoubleType || e.dataType == FloatType
}
