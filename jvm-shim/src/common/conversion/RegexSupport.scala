package org.apache.spark.sql.pysparkpipeline

import java.util.regex.{Pattern, PatternSyntaxException}

import scala.util.Try
import scala.util.control.NoStackTrace

/** Decides which of Java's regular expressions the engine evaluates; `java_regex.py` has the same rules, and why. */
object RegexSupport {

  /**
   * A supported pattern: the least length of a match, the number of its groups, those whose text is known after a match,
   * and whether Python searches for it, which is slow, because RE2 has neither look-around nor references to groups.
   */
  case class Parsed(leastLength: Int, groups: Int, extractable: Set[Int], isByPython: Boolean) {

    /** Return whether the engine extracts a group; 0 is the whole match. */
    def hasGroup(number: Int): Boolean = number == 0 || extractable(number)

    /** Return whether the engine replaces matches by a text with references to groups. */
    def hasReplacement(text: String): Boolean = {
      var at = 0
      var fits = true
      while (fits && at < text.length) {
        if (text(at) == '\\') {
          fits = at + 1 < text.length
          at += 2
        } else if (text(at) == '$') {
          fits = at + 1 < text.length && isDigit(text(at + 1))
          if (fits) {
            var number = text(at + 1) - '0'
            at += 2
            while (at < text.length && isDigit(text(at)) && number * 10 + (text(at) - '0') <= groups) {
              number = number * 10 + (text(at) - '0')
              at += 1
            }
            fits = hasGroup(number)
          }
        } else {
          at += 1
        }
      }
      fits
    }
  }

  /** Return a pattern if it is supported. */
  def parse(pattern: String): Option[Parsed] =
    try {
      Pattern.compile(pattern)
      Some(new Parser(pattern).parse())
    } catch {
      case _: PatternSyntaxException | Unsupported => None
    }

  private object Unsupported extends RuntimeException with NoStackTrace

  private def isDigit(c: Char): Boolean = c >= '0' && c <= '9'

  /** A part of a pattern. `length` is that of each match if there is one without characters of two units, else -1. */
  private case class Part(least: Int, length: Int, isPlace: Boolean = false)

  private val Place = Part(0, -1, isPlace = true)
  private val Quantifier = """([*+?])|\{(\d{1,3})(,(\d{0,3}))?\}""".r.pattern
  private val PosixName =
    """\{(Lower|Upper|ASCII|Alpha|Digit|Alnum|Graph|Punct|Print|Blank|Cntrl|Space|XDigit)\}""".r.pattern

  private class Parser(text: String) {
    private val ignoresCase = text.startsWith("(?i)")
    private var at = if (ignoresCase) 4 else 0
    private var groups = 0
    private var closed = Set.empty[Int]
    private var looks = 0
    private var hasPairs = false
    private var needsNoPairs = false
    private var namesNoAscii = false
    private var hasBoundary = false
    private var isByPython = false

    def parse(): Parsed = {
      val root = choice()
      if (at < text.length || (hasPairs && needsNoPairs) || (namesNoAscii && hasBoundary)) throw Unsupported
      Parsed(root.least, groups, closed, isByPython)
    }

    private def starts(prefix: String): Boolean = text.startsWith(prefix, at)

    private def accept(prefix: String): Boolean = {
      val found = starts(prefix)
      if (found) at += prefix.length
      found
    }

    private def next(): Char = {
      if (at >= text.length) throw Unsupported
      at += 1
      text(at - 1)
    }

    private def choice(): Part = {
      var options = List(sequence())
      while (accept("|")) options ::= sequence()
      if (options.tail.isEmpty) options.head else Part(options.map(_.least).min, -1)
    }

    private def sequence(): Part = {
      var (least, length) = (0, 0)
      while (at < text.length && !starts("|") && !starts(")")) {
        val found = repeated()
        least = math.min(1000000, least + found.least)
        length = if (length < 0 || found.length < 0) -1 else length + found.length
      }
      Part(least, length)
    }

    private def repeated(): Part = {
      val before = closed
      val body = part()
      val matcher = Quantifier.matcher(text).region(at, text.length)
      if (!matcher.lookingAt()) {
        if (starts("{")) throw Unsupported
        return body
      }
      if (body.isPlace) throw Unsupported
      at = matcher.end
      val (low, high) = matcher.group(1) match {
        case "*" => (0, -1)
        case "+" => (1, -1)
        case "?" => (0, 1)
        case _ =>
          val n = matcher.group(2).toInt
          (n, if (matcher.group(3) == null) n else Option(matcher.group(4)).filter(_.nonEmpty).fold(-1)(_.toInt))
      }
      accept("?")
      if (at < text.length && "*+?{".indexOf(text(at)) >= 0) throw Unsupported
      if (high != 1) {
        if (body.least == 0) throw Unsupported
        closed = before
      }
      Part(math.min(1000000, body.least * low), if (low == high && body.length >= 0) body.length * low else -1)
    }

    private def part(): Part = next() match {
      case '(' => group()
      case '[' => set(characters())
      case '\\' => escape()
      case '^' | '$' => Place
      case '.' => set(isWide = true)
      case '*' | '+' | '?' | '{' => throw Unsupported
      case c => check(c); set(isWide = false)
    }

    /** `isWide`: the set has the characters of two units. */
    private def set(isWide: Boolean): Part = {
      hasPairs ||= isWide
      Part(1, if (isWide) -1 else 1)
    }

    private def check(first: Char, last: Char): Unit = {
      if (last >= Character.MIN_SURROGATE && first <= Character.MAX_SURROGATE) throw Unsupported
      namesNoAscii ||= last >= 0x80
    }

    private def check(c: Char): Unit = check(c, c)

    private def group(): Part = {
      if (accept("?:")) {
        return closing(choice()).copy(length = -1)
      }
      val kind = Seq("?=", "?!", "?<=", "?<!").find(accept)
      if (kind.nonEmpty) {
        isByPython = true
        looks += 1
        if (kind.get.startsWith("?<")) {
          if (sequence().length < 0) throw Unsupported
          needsNoPairs ||= kind.contains("?<!")
        } else {
          choice()
        }
        looks -= 1
        closing(Place)
      } else {
        if (starts("?") || looks > 0) throw Unsupported
        groups += 1
        val number = groups
        val body = closing(choice())
        closed += number
        body.copy(length = -1)
      }
    }

    private def closing(body: Part): Part = if (accept(")")) body else throw Unsupported

    private def escape(): Part = {
      if (accept("A") || accept("z") || accept("Z")) return Place
      if (accept("b")) {
        hasBoundary = true
        // Words are other characters since Java 19.
        if (starts("{") || Runtime.version.feature >= 19) throw Unsupported
        return Place
      }
      if (at < text.length && text(at) >= '1' && text(at) <= '9') {
        val number = next() - '0'
        if (ignoresCase || (at < text.length && isDigit(text(at))) || !closed(number)) throw Unsupported
        isByPython = true
        return Part(0, -1)
      }
      escaped() match {
        case Left(isWide) => set(isWide)
        case Right(c) => check(c); set(isWide = false)
      }
    }

    /** Return the character of an escape, or whether its set has the characters of two units. */
    private def escaped(): Either[Boolean, Char] = next() match {
      case 'd' | 'w' | 's' => Left(false)
      case 'D' | 'W' | 'S' => Left(true)
      case 't' => Right('\t')
      case 'n' => Right('\n')
      case 'r' => Right('\r')
      case 'f' => Right('\f')
      case 'a' => Right('\u0007')
      case 'e' => Right('\u001b')
      case c @ ('p' | 'P') =>
        val name = PosixName.matcher(text).region(at, text.length)
        if (!name.lookingAt() || (ignoresCase && Set("Lower", "Upper")(name.group(1)))) throw Unsupported
        at = name.end
        Left(c == 'P')
      case 'x' => code(2)
      case 'u' => code(4)
      case c => if (c < 0x80 && !Character.isLetterOrDigit(c)) Right(c) else throw Unsupported
    }

    private def code(digits: Int): Either[Boolean, Char] = {
      val found = text.slice(at, at + digits)
      at += digits
      Right(Try(Integer.parseInt(found, 16)).filter(_ => found.forall(Character.digit(_, 16) >= 0))
        .getOrElse(throw Unsupported).toChar)
    }

    /** Read a class after its bracket; return whether it has the characters of two units. */
    private def characters(): Boolean = {
      val isNegated = accept("^")
      if (starts("]")) throw Unsupported
      var isWide = false
      while (!accept("]")) {
        item() match {
          case Left(wide) => isWide ||= wide
          case Right(first) =>
            val isRange = starts("-") && !starts("-]") && !starts("-[")
            val last = if (!isRange) first else {
              at += 1
              item().getOrElse(throw Unsupported)
            }
            check(first, last)
        }
      }
      isWide != isNegated
    }

    private def item(): Either[Boolean, Char] = {
      if (starts("[") || starts("&&")) throw Unsupported
      if (accept("\\")) escaped() else Right(next())
    }
  }
}
