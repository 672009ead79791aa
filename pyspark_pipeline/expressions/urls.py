"""Parts of URLs and their encoding (Spark: ParseUrlEvaluator, UrlCodec; Java: URI, URLEncoder, URLDecoder).

A URL in the usual form is split by one regular expression of Arrow; the others one by one, as java.net.URI parses them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote_plus

import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.expressions import conditions
from pyspark_pipeline.expressions.by_constants import by_constants
from pyspark_pipeline.expressions.per_value import decoded, java_text, map_distinct, per_value
from pyspark_pipeline.expressions.registry import ExpressionSettings, Kernel, Value, case, function
from pyspark_pipeline.expressions.text_search import NULL_TEXT
from pyspark_pipeline.expressions.values import set_null, to_array
from pyspark_pipeline.plan.expr import Call, constants


@function("UrlCodec.encode", [case(["string"], slower=True)])
def _url_encode(call: Call, settings: ExpressionSettings) -> Kernel:
    return per_value(lambda text: quote_plus(text, safe="*").replace("~", "%7E"), pa.string())


@function("UrlCodec.decode", [case(["string"], ["boolean"], literal=[1], slower=True)])
def _url_decode(call: Call, settings: ExpressionSettings) -> Kernel:
    """Decode; a wrong escape raises Spark's error, or is NULL."""
    (raises,) = constants(call.args[1:])

    def convert(text: str) -> str | None:
        try:
            return url_decoded(text)
        except ValueError:
            if raises:
                raise conditions.cannot_decode_url(text) from None
            return None

    def run(values: Sequence[Value], rows: int) -> Value:
        return map_distinct(java_text(to_array(values[0], rows)), convert, pa.string())

    return Kernel(run=run, can_raise=bool(raises), by_dictionary=True)


_ESCAPES = re.compile(r"\+|(?:%..)+|%", re.DOTALL)


def url_decoded(text: str) -> str:
    """Decode + and runs of escapes as URLDecoder; raise ValueError for an escape that is not two hexadecimal digits."""
    return _ESCAPES.sub(_unescaped, text)


def _unescaped(found: re.Match[str]) -> str:
    run = found[0]
    if run == "+":
        return " "
    if run == "%":
        raise ValueError("an escape is not complete")
    try:
        data = bytes.fromhex(run.replace("%", "")) if run.isascii() and run.isalnum() else None
    except ValueError:
        data = None
    return decoded(data or bytes(_byte(run[at + 1 : at + 3]) for at in range(0, len(run), 3)))


def _byte(pair: str) -> int:
    """Return the value of two characters as Java's parseInt: a sign and digits of any script are allowed."""
    digits = pair[1:] if pair[0] in "+-" else pair
    value = 0
    for character in digits:
        value = value * 16 + _digit(character)
    if pair[0] == "-" and value:
        raise ValueError("an escape is negative")
    return value


def _digit(character: str) -> int:
    if character.isdecimal() and character <= "\uffff":
        return unicodedata.decimal(character)
    if character.isascii() or "\uff21" <= character <= "\uff26" or "\uff41" <= character <= "\uff46":
        return int(unicodedata.normalize("NFKC", character), 16)
    raise ValueError("an escape has another character than a digit")


_MARK = r"\-_.!~*'()"
_UNRESERVED = rf"A-Za-z0-9{_MARK}"
#: Characters beyond ASCII that are neither spaces nor control characters.
_OTHER = (
    "\u00a1-\u167f\u1681-\u1fff\u200b-\u2027\u202a-\u202e\u2030-\u205e\u2060-\u2fff\u3001-\U0010ffff"
)


def _run(characters: str) -> str:
    """Return a pattern of characters, those beyond ASCII and escapes."""
    return f"(?:[{_UNRESERVED}{characters}{_OTHER}]|%[0-9A-Fa-f]{{2}})*"


_URIC = re.compile(_run(r";/?:@&=+$,\[\]"))
_PATH = re.compile(_run(":@&=+$,;/"))
_USER_INFO = re.compile(_run(";:&=+$,"))
_REGISTRY = re.compile(_run("$,;:@&=+"))
_SERVER = re.compile(rf"[{_UNRESERVED};:&=+$,@\[\]%{_OTHER}]*")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+\-.]*")
_LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_HOST = rf"(?:{_LABEL}|(?:{_LABEL}\.)+[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?)\.?"
_BYTE = "(?:0*(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9]))"
_IPV4 = rf"{_BYTE}\.{_BYTE}\.{_BYTE}\.{_BYTE}"
_SERVER_NAME = re.compile(rf"({_IPV4}(?=:|\Z)|{_HOST}|\[[^\]]+\])(?::([0-9]*))?")
_SCOPE = re.compile("[A-Za-z0-9_.]+")


class InvalidUrl(Exception):
    """A text is not a URL."""


@dataclass(slots=True)
class Url:
    """The parts of a URL, None if it does not have them."""

    scheme: str | None = None
    authority: str | None = None
    user_info: str | None = None
    host: str | None = None
    path: str | None = None
    query: str | None = None
    fragment: str | None = None

    @property
    def file(self) -> str | None:
        return self.path if self.query is None else f"{self.path}?{self.query}"


def parse_url(text: str) -> Url:
    """Split a text as java.net.URI; raise :class:`InvalidUrl`."""
    url = Url()
    rest, has_fragment, fragment = text.partition("#")
    if has_fragment:
        url.fragment = _checked(_URIC, fragment)
    before, colon, after = rest.partition(":")
    if colon and not set(before) & {"/", "?"}:
        url.scheme = _checked(_SCHEME, before)
        if not after.startswith("/"):
            if not after:
                raise InvalidUrl
            _checked(_URIC, after)
            return url
        rest = after
    if rest.startswith("//"):
        end = min((at for at in (rest.find("/", 2), rest.find("?", 2)) if at >= 0), default=len(rest))
        if end > 2:
            _parse_authority(url, rest[2:end])
        elif end == len(rest) and not has_fragment:
            raise InvalidUrl
        rest = rest[end:]
    path, has_query, query = rest.partition("?")
    url.path = _checked(_PATH, path)
    if has_query:
        url.query = _checked(_URIC, query)
    return url


def _checked(pattern: re.Pattern[str], text: str) -> str:
    if pattern.fullmatch(text) is None:
        raise InvalidUrl
    return text


def _parse_authority(url: Url, text: str) -> None:
    """Set the server's name and its user, or only the authority if it has another form."""
    url.authority = text
    scanned = _REGISTRY.match(text)
    stop = scanned.end() if scanned else 0
    if text[stop : stop + 1] == "%":
        raise InvalidUrl
    if _SERVER.fullmatch(text) is not None and _parse_server(url, text):
        return
    if stop < len(text):
        raise InvalidUrl


def _parse_server(url: Url, text: str) -> bool:
    user, at, rest = text.partition("@")
    if not at:
        rest = text
    elif _USER_INFO.fullmatch(user) is None:
        return False
    found = _SERVER_NAME.fullmatch(rest)
    if found is None or (found[2] and int(found[2]) > 2**31 - 1):
        return False
    if found[1][0] == "[" and not _is_ipv6(found[1][1:-1]):
        return False
    url.host, url.user_info = found[1], user if at else None
    return True


def _is_ipv6(text: str) -> bool:
    """Return whether a text is an address of 16 bytes, with a scope or not."""
    address, percent, scope = text.partition("%")
    if percent and address and _SCOPE.fullmatch(scope) is None:
        return False
    groups, compressed, others = address.partition("::")
    count = _bytes_of(groups, ends=not compressed)
    more = _bytes_of(others, ends=True) if compressed else 0
    if count is None or more is None:
        return False
    return count + more < 16 if compressed else count == 16


def _bytes_of(text: str, ends: bool) -> int | None:
    """Count the bytes of groups of hexadecimal digits, of which the last may be an IPv4 address; None if wrong."""
    if not text:
        return 0
    *groups, last = text.split(":")
    if ends and "." in last:
        if re.fullmatch(_IPV4, last) is None:
            return None
        count = 4
    else:
        groups.append(last)
        count = 0
    if any(re.fullmatch("[0-9A-Fa-f]{1,4}", group) is None for group in groups):
        return None
    return count + 2 * len(groups)


_PARTS = {
    "HOST": "host", "PATH": "path", "QUERY": "query", "REF": "fragment", "PROTOCOL": "scheme", "FILE": "file",
    "AUTHORITY": "authority", "USERINFO": "user_info",
}  # fmt: skip


def _usual(characters: str) -> str:
    return rf"(?:[{_UNRESERVED}{characters}]|%[0-9A-Fa-f][0-9A-Fa-f])*"


#: URLs of ASCII with a server by name: each part is empty if the URL does not have it.
_USUAL = (
    r"^(?P<scheme>[A-Za-z][A-Za-z0-9+\-.]*)://"
    rf"(?P<host>(?:{_LABEL}\.)*[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?)(?P<port>(?::[0-9]{{0,9}})?)"
    rf"(?P<path>(?:/{_usual(':@&=+$,;/')})?)(?P<query>(?:\?{_usual(';/?:@&=+$,')})?)"
    rf"(?P<fragment>(?:#{_usual(';/?:@&=+$,')})?)$"
)


def _usual_part(found: pa.StructArray, name: str) -> pa.Array:
    """Return a part of usual URLs; NULL in the rows of others."""
    part = {name: pc.struct_field(found, name) for name in ("scheme", "host", "port", "path", "query", "fragment")}
    if name in ("HOST", "PATH", "PROTOCOL"):
        return part[_PARTS[name]]
    if name in ("QUERY", "REF"):
        marked = part[_PARTS[name]]
        return set_null(pc.utf8_slice_codeunits(marked, 1), pc.equal(marked, ""))
    if name in ("FILE", "AUTHORITY"):
        pair = ("path", "query") if name == "FILE" else ("host", "port")
        return pc.binary_join_element_wise(part[pair[0]], part[pair[1]], "")
    return pa.nulls(len(found), pa.string())


_NAME = "ParseUrlEvaluator.evaluate"


@function(_NAME, [case(["string"], ["string"], literal=[1], slower=True)])
def _parse_url(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return a part of a URL; NULL if it does not have it. A text that is not a URL raises, or is NULL."""
    (name,) = constants(call.args[1:])
    return NULL_TEXT if name is None else Kernel(
        run=lambda values, rows: _part(to_array(values[0], rows), name, call), can_raise=_raises(call)
    )


def _raises(call: Call) -> bool:
    return bool(call.fields["failOnError"])


def _part(urls: pa.Array, name: str, call: Call) -> pa.Array:
    found = pc.extract_regex(urls, _USUAL)
    part = _usual_part(found, name)
    others = pc.and_(urls.is_valid(), found.is_null())
    if not others.true_count:
        return part

    def convert(text: str) -> str | None:
        try:
            url = parse_url(text)
        except InvalidUrl:
            if _raises(call):
                raise conditions.invalid_url(text) from None
            return None
        return getattr(url, _PARTS[name]) if name in _PARTS else None

    rest = map_distinct(java_text(urls.filter(others)), convert, pa.string())
    return pc.replace_with_mask(part, others, rest)


#: Keys without a meaning in regular expressions, as which Spark reads them.
_KEY = r"[^\\^$.|?*+()\[\]{}]*"


@function(_NAME, [case(["string"], ["string"], ["string"], literal=[1], matches={"2": _KEY})])
def _parse_query(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the first value of a key in the query; NULL for other parts."""
    name, key = constants(call.args[1:])
    if name != "QUERY":
        return NULL_TEXT
    pattern = f"(?:&|^){key}=(?P<value>[^&]*)"

    def run(values: Sequence[Value], rows: int) -> Value:
        query = _part(to_array(values[0], rows), "QUERY", call)
        return pc.struct_field(pc.extract_regex(query, pattern), 0)

    return Kernel(run=run, can_raise=_raises(call))


by_constants(_NAME, [case(["string"], ["string"])], [1], can_raise=True)
by_constants(_NAME, [case(["string"], ["string"], ["string"], choices={"2": _KEY})], [1, 2], can_raise=True)
