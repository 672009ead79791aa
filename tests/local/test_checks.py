"""Invalid arguments of a local query are rejected before it runs; the message names them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pyspark_pipeline.errors import OptionError, UnsupportedPlanError
from pyspark_pipeline.local import Conditions, LocalFragment, LocalQuery, run_query
from pyspark_pipeline.local.write import file_splits, fragment, scan
from pyspark_pipeline.plan.broadcasts import BroadcastExchange
from pyspark_pipeline.plan.nodes import HashExchange, Limit, Node, RoundRobinExchange, SingleExchange
from tests.local.kit import NUMBERS, N, broadcast_join, numbers, pass_on

HERE = str(Path(__file__))


def of_two(**runs: Any) -> list[LocalFragment]:
    below = numbers(1, SingleExchange(), 10, **runs)
    return [below, pass_on(2, below)]


@pytest.mark.parametrize("name", ["threads", "window", "memory_limit"])
@pytest.mark.parametrize("value", [0, -1, 1.5, True, "2"])
def test_invalid_query_number_is_named(name: str, value: Any) -> None:
    with pytest.raises(OptionError, match=rf"^{name} is {value!r}: allowed is a whole number from 1$"):
        LocalQuery(of_two(), **{name: value})


def test_queue_length_may_be_zero_but_not_negative() -> None:
    with pytest.raises(OptionError, match="^queue_length is -1: allowed is a whole number from 0$"):
        LocalQuery(of_two(), queue_length=-1)
    assert run_query(of_two(), queue_length=0).num_rows == 10


@pytest.mark.parametrize("name", ["instances", "dop"])
@pytest.mark.parametrize("value", [0, -1])
def test_invalid_fragment_number_is_named(name: str, value: int) -> None:
    with pytest.raises(OptionError, match=rf"^{name} of fragment 1 is {value}: allowed is a whole number from 1$"):
        LocalQuery(of_two(**{name: value}))


@pytest.mark.parametrize("count", [0, -2])
def test_exchange_requires_a_partition(count: int) -> None:
    sinks = HashExchange(keys=(N,), num_partitions=count), BroadcastExchange(num_partitions=count)
    for sink in (*sinks, RoundRobinExchange(num_partitions=count)):
        below = numbers(1, sink, 10)
        with pytest.raises(OptionError, match=rf"num_partitions of the exchange of fragment 1 is {count}: allowed"):
            LocalQuery([below, pass_on(2, below)])


def test_broadcast_to_no_instance_names_instances() -> None:
    below = numbers(1, BroadcastExchange(), 10)
    with pytest.raises(OptionError, match="instances of fragment 2 is 0"):
        LocalQuery([below, pass_on(2, below, instances=0)])


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        (Conditions(latency=-1), "conditions.latency is -1: allowed is a whole number from 0"),
        (Conditions(jitter=-1), "conditions.jitter is -1: allowed is a whole number from 0"),
        (Conditions(timeout=0), "conditions.timeout is 0: allowed is a whole number from 1"),
        (Conditions(loss=1.5), "conditions.loss is 1.5: allowed is a share from 0 to 1"),
    ],
)
def test_invalid_condition_is_named(conditions: Conditions, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        LocalQuery(of_two(), conditions=conditions)


FILE = scan("n:bigint")


@pytest.mark.parametrize(
    ("root", "splits", "message"),
    [
        (NUMBERS, {}, r"fragment 1 has scans \[0\], but is given splits of \[\]"),
        (NUMBERS, {5: (0, 10, 1)}, r"fragment 1 has scans \[0\], but is given splits of \[5\]"),
        (NUMBERS, {0: (0, 10, 1), 1: (0, 10, 1)}, r"splits of \[0, 1\]"),
        (NUMBERS, {"0": (0, 10, 1)}, r"splits of \['0'\]"),
        (NUMBERS, {0: (0, 10)}, r"splits of scan 0 of fragment 1 are \(0, 10\): a Range has \(first number"),
        (NUMBERS, {0: (0, -1, 1)}, "a Range has"),
        (NUMBERS, {0: (0, 1, 0)}, "a Range has"),
        (NUMBERS, {0: 10}, "a Range has"),
        (FILE, {0: [HERE]}, "a FileScan has a list of mappings with length, partitionValues, path, start"),
        (FILE, {0: HERE}, "a FileScan has"),
        (FILE, {0: [{"path": HERE}]}, "a FileScan has"),
    ],
)
def test_splits_must_match_scans(root: Node, splits: Any, message: str) -> None:
    with pytest.raises(UnsupportedPlanError, match=message):
        LocalQuery([fragment(1, root, splits=splits)])


def test_splits_of_valid_form_are_accepted() -> None:
    LocalQuery([fragment(1, FILE, splits={0: []})])
    LocalQuery([fragment(1, FILE, splits={0: tuple(file_splits([HERE], 2))}, instances=2)])
    limited = Limit(output=NUMBERS.output, limit=3, child=NUMBERS)
    assert run_query([fragment(1, limited, splits={0: [0, 10, 2]})]).column(0).to_pylist() == [0, 2, 4]


def test_local_query_rejects_capture_folder(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"capture\.folder of fragment 1 is '.*': allowed is none"):
        LocalQuery(of_two(options={"capture.folder": str(tmp_path)}))


@pytest.mark.parametrize("partitions", [1, 3])
def test_broadcast_partitions_must_equal_reading_instances(partitions: int) -> None:
    below = numbers(1, BroadcastExchange(num_partitions=partitions), 10)
    message = rf"fragment 1 has num_partitions={partitions}, but fragment 2, which reads it, has instances=2"
    with pytest.raises(UnsupportedPlanError, match=message):
        LocalQuery([below, pass_on(2, below, instances=2)])


@pytest.mark.parametrize("instances", [1, 3])
def test_broadcast_without_partitions_goes_to_every_instance(instances: int) -> None:
    below = numbers(1, BroadcastExchange(), 10, instances=2)
    found = run_query([below, pass_on(2, below, instances=instances)]).column(0).to_pylist()
    assert sorted(found) == sorted([*range(10)] * instances)
    small, large, top = broadcast_join(300, 20, instances=instances)
    default = numbers(1, BroadcastExchange(), 10)
    joined, expected = run_query([default, large, top]), run_query([small, large, top])
    assert joined.num_rows == 150 and sorted(joined.to_pylist(), key=str) == sorted(expected.to_pylist(), key=str)


def test_broadcast_without_reader_is_the_result() -> None:
    assert run_query([numbers(1, BroadcastExchange(), 10)]).num_rows == 10
