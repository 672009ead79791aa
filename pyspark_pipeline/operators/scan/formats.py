"""The registry of file formats: the function that opens a file, and the declaration of what its reader supports.

The declaration is part of the manifest: planning leaves a scan to Spark if a column's type is not among ``types``, or a
setting of Spark has not the value with which the reader returns Spark's rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pyspark_pipeline.errors import UnsupportedPlanError
from pyspark_pipeline.operators.scan.reader import FileReader, ReadRequest, local_path, wrap_file_errors

Open = Callable[[str, ReadRequest], FileReader]
_O = TypeVar("_O", bound=Open)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequiredSetting:
    """A setting of Spark, and the only ``value`` of it that the reader supports (without regard to case).

    ``conf`` is its key in the session. ``option`` is the name of the read option that precedes it; empty if there is
    none.
    """

    conf: str
    value: str
    option: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFormat:
    """A registered format; ``name`` is its name on the wire, ``label`` that in messages."""

    name: str
    label: str
    open: Open
    types: tuple[str, ...]
    settings: tuple[RequiredSetting, ...]

    def open_file(self, path: str, request: ReadRequest) -> FileReader:
        """Open the file at a path or ``file:`` URI; raise :class:`CorruptFileError` if it cannot be read."""
        path = local_path(path)
        with wrap_file_errors(path, self.label):
            return self.open(path, request)


_FORMATS: dict[str, FileFormat] = {}


def reads_format(
    name: str, *, label: str, types: Sequence[str], settings: Sequence[RequiredSetting] = ()
) -> Callable[[_O], _O]:
    """Register the decorated function, which opens a local path for a :class:`ReadRequest`, as reader of a format.

    ``types`` are the kinds of the types (:class:`~pyspark_pipeline.datatypes.DataType`) of columns that it reads.
    """

    def register(function: _O) -> _O:
        _FORMATS[name] = FileFormat(name=name, label=label, open=function, types=tuple(types), settings=tuple(settings))
        return function

    return register


def file_format(name: str) -> FileFormat:
    """Return the format of this name; raise :class:`UnsupportedPlanError` if no reader is registered."""
    found = _FORMATS.get(name)
    if found is None:
        raise UnsupportedPlanError(f"no reader reads files of the format {name!r}")
    return found


def format_manifest() -> Mapping[str, Any]:
    """Return the supported types and required settings of every format, by name."""
    return {
        each.name: {
            "label": each.label,
            "types": list(each.types),
            "settings": [{"conf": s.conf, "option": s.option, "value": s.value} for s in each.settings],
        }
        for each in sorted(_FORMATS.values(), key=lambda each: each.name)
    }
