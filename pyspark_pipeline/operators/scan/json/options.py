"""The options of a read of JSON files, as the rule in the shim writes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark_pipeline.expressions.json_reader import Features


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonOptions:
    """Options of lines of JSON.

    ``corrupt`` is the position of the column with the text of malformed lines, -1 for none. ``mode`` is PERMISSIVE,
    DROPMALFORMED or FAILFAST. Lines end with ``separator``, or with LF, CR or CRLF if it is None. If ``decodes``, they
    are decoded before they are parsed.
    """

    corrupt: int
    mode: str
    separator: bytes | None
    decodes: bool
    features: Features

    @classmethod
    def of(cls, given: Mapping[str, str]) -> JsonOptions:
        """Return the options of a request."""
        separator = given.get("lineSep")
        return cls(
            corrupt=int(given["corrupt"]),
            mode=given["mode"],
            separator=None if separator is None else separator.encode(),
            decodes=given["decodes"] == "true",
            features=Features.of({name.lower(): value for name, value in given.items()}),
        )
