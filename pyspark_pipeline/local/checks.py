"""Validation of a local query's arguments before it runs: numbers, splits, options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

from pyspark_pipeline.errors import OptionError, UnsupportedPlanError
from pyspark_pipeline.local.fragment import LocalFragment, nodes_of
from pyspark_pipeline.local.transport.local_transport import Conditions
from pyspark_pipeline.options import PREFIX
from pyspark_pipeline.plan.nodes import ExchangeSource, FileScan, Range

_SPLIT_KEYS = {"path", "start", "length", "partitionValues"}


def check_number(name: str, value: object, least: int) -> None:
    """Raise :class:`OptionError`, which names the argument, unless ``value`` is a whole number >= ``least``."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
        raise OptionError(f"{name} is {value!r}: allowed is a whole number from {least}")


def check_conditions(conditions: Conditions) -> None:
    """Raise :class:`OptionError` for invalid network conditions."""
    for name, least in (("latency", 0), ("jitter", 0), ("timeout", 1)):
        check_number(f"conditions.{name}", getattr(conditions, name), least)
    for name in ("loss", "answer_loss"):
        share = getattr(conditions, name)
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
            raise OptionError(f"conditions.{name} is {share!r}: allowed is a share from 0 to 1")


def check_fragment(fragment: LocalFragment) -> None:
    """Raise :class:`OptionError` for its numbers and options, :class:`UnsupportedPlanError` for its splits."""
    name = f"fragment {fragment.id}"
    check_number(f"instances of {name}", fragment.instances, 1)
    check_number(f"dop of {name}", fragment.dop, 1)
    partitions = getattr(fragment.plan.sink, "num_partitions", None)
    if partitions is not None:
        check_number(f"num_partitions of the exchange of {name}", partitions, 1)
    folder = fragment.plan.settings.options.capture_folder
    if folder:
        raise OptionError(
            f"{PREFIX}capture.folder of {name} is {folder!r}: allowed is none, a local query is not captured"
        )
    _check_splits(fragment)


def _check_splits(fragment: LocalFragment) -> None:
    """Raise for scans without splits, splits without a scan, and splits of the wrong form for their scan."""
    nodes = list(nodes_of(fragment.plan.root))
    scans = {node.input_id: node for node in nodes if isinstance(node, Range | FileScan)}
    others = {getattr(node, "input_id", None) for node in nodes if not isinstance(node, ExchangeSource)}
    given = set(fragment.splits)
    if not set(scans) <= given <= set(scans) | others:
        raise UnsupportedPlanError(
            f"fragment {fragment.id} has scans {sorted(scans)}, but is given splits of {sorted(given, key=repr)}"
        )
    for number, scan in scans.items():
        splits = fragment.splits[number]
        is_valid, form = (_is_range, _RANGE) if isinstance(scan, Range) else (_are_files, _FILES)
        if not is_valid(splits):
            raise UnsupportedPlanError(f"splits of scan {number} of fragment {fragment.id} are {splits!r}: {form}")


_RANGE = "a Range has (first number, count from 0, step other than 0)"
_FILES = f"a FileScan has a list of mappings with {', '.join(sorted(_SPLIT_KEYS))}, as file_splits makes them"


def _is_range(splits: Sequence[Any]) -> bool:
    if not isinstance(splits, Sequence) or len(splits) != 3:
        return False
    _, count, step = splits
    return all(isinstance(number, Integral) for number in splits) and count >= 0 and step != 0


def _are_files(splits: Sequence[Any]) -> bool:
    if not isinstance(splits, Sequence) or isinstance(splits, str):
        return False
    return all(isinstance(split, Mapping) and set(split) >= _SPLIT_KEYS for split in splits)
