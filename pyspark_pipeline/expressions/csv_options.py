"""The options of a read of CSV files, as the rule in the shim writes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

#: The most fields of a line that Spark parses.
MOST_FIELDS = 20480
NO_LIMIT = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvOptions:
    """Options, with characters as their bytes; 0 is no quote and no escape, -1 no comment.

    ``places`` are the columns of the files to read, -1 for the text of malformed lines; ``width`` is the number of
    columns of the files. A line with another number of fields is malformed if ``counts``. ``mode`` is PERMISSIVE,
    DROPMALFORMED or FAILFAST. ``words`` are the texts of doubles that are no numbers, ``formats``
    the patterns of dates and timestamps, by the kinds of the types.
    """

    places: tuple[int, ...]
    width: int
    counts: bool
    mode: str
    header: bool
    separator: int
    quote: int
    escape: int
    comment: int
    leads: bool
    trails: bool
    null: str
    empty: str
    words: Mapping[str, float]
    formats: Mapping[str, str]

    @classmethod
    def of(cls, given: Mapping[str, str]) -> CsvOptions:
        """Return the options of a request."""
        return cls(
            places=tuple(int(place) for place in given["places"].split()),
            width=int(given["width"]),
            counts=given["counts"] == "true",
            mode=given["mode"],
            header=given["header"] == "true",
            separator=int(given["separator"]),
            quote=int(given["quote"]),
            escape=int(given["escape"]),
            comment=int(given["comment"]),
            leads=given["ignoreLeadingWhiteSpace"] == "true",
            trails=given["ignoreTrailingWhiteSpace"] == "true",
            null=given["nullValue"],
            empty=given["emptyValue"],
            # The first of equal texts decides.
            words={
                given["positiveInf"]: float("inf"),
                given["negativeInf"]: float("-inf"),
                given["nanValue"]: float("nan"),
            },
            formats={},
        )

    @property
    def marks(self) -> tuple[int, int, int, int, int]:
        """The marks of :func:`~pyspark_pipeline.kernels.csv_scan.scan_lines`."""
        second = 0 if self.quote == self.escape else self.escape
        return self.separator, self.quote, self.escape, second, self.comment

    @property
    def tells_malformed(self) -> bool:
        """Whether it matters which records are malformed."""
        return self.mode != "PERMISSIVE" or -1 in self.places

    @property
    def needed(self) -> int:
        """The number of leading fields of a line that are read; -1 if all are counted."""
        return -1 if self.counts else max(self.places, default=-1) + 1

    @property
    def most_fields(self) -> int:
        """The number of fields above which a line is an error."""
        return MOST_FIELDS if self.needed else NO_LIMIT
