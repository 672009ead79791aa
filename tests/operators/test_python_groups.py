"""Functions of groups: groups across chunks, batches of the maximum, results of changing types, the end of input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.serializers import CloudPickleSerializer
from pyspark.sql.types import DoubleType, StructField, StructType
from pyspark.util import PythonEvalType

from pyspark_pipeline.datatypes import parse_type
from pyspark_pipeline.errors import UserFunctionError
from pyspark_pipeline.operators.python_functions.calls import use_calls_of
from pyspark_pipeline.plan.expr import ColumnRef
from pyspark_pipeline.plan.python_functions import AggregatePython, BatchLimits, MapGroups, PythonCall, PythonFunctions
from pyspark_pipeline.plan.windows import WindowSpec
from pyspark_pipeline.spark.python_calls import load_calls
from tests.operators.aggregate_kit import chunks_of, leaf
from tests.operators.kit import Chunks, fields, run


@pytest.fixture(autouse=True)
def _calls() -> None:
    use_calls_of(load_calls)


def rows(keys: list[int | None], chunk_rows: int) -> Chunks:
    table = pa.table({"k": pa.array(keys, pa.int64()), "v": pa.array(range(len(keys)), pa.int64())})
    return leaf("k:bigint, v:bigint", chunks_of(table, chunk_rows))


def functions(function: Callable[..., Any], result: Any, eval_type: int, offsets: tuple[int, ...]) -> PythonFunctions:
    call = PythonCall(
        name=function.__name__,
        arguments=tuple((offset, None) for offset in offsets),
        commands=(CloudPickleSerializer().dumps((function, result)),),
    )
    return PythonFunctions(
        eval_type=eval_type,
        limits=BatchLimits(4, 2**31 - 1),
        input_type="",
        conf={"spark.sql.session.timeZone": "UTC"},
        calls=(call,),
        result_types=(parse_type("double"),),
    )


def columns(child: Chunks) -> tuple[ColumnRef, ...]:
    return tuple(ColumnRef(ordinal=i, type=field.type) for i, field in enumerate(child.output))


def aggregated(child: Chunks, function: Callable[..., Any], *, has_key: bool = True) -> AggregatePython:
    key, value = columns(child)
    return AggregatePython(
        output=fields("k:bigint, m:double" if has_key else "m:double"),
        functions=functions(function, DoubleType(), PythonEvalType.SQL_GROUPED_AGG_PANDAS_UDF, (0,)),
        spec=WindowSpec(partition=(key,) if has_key else (), order=()),
        arguments=(value,),
        child=child,
    )


def mapped(child: Chunks, function: Callable[..., Any]) -> MapGroups:
    result = StructType([StructField("m", DoubleType())])
    return MapGroups(
        output=fields("m:double"),
        functions=functions(function, result, PythonEvalType.SQL_GROUPED_MAP_PANDAS_UDF, (4, 1, 0, 0, 1)),
        spec=WindowSpec(partition=columns(child)[:1], order=()),
        arguments=columns(child),
        names=("k", "v"),
        takes_struct=False,
        child=child,
    )


_KEYS: list[int | None] = [5, None, 5, 1, 1, 1, 1, 1, 1, 9, None, *([7] * 9), 8]


@pytest.mark.parametrize("chunk_rows", [1, 3, 100])
def test_aggregate_of_each_group(chunk_rows: int) -> None:
    def total(values: pd.Series) -> float:
        assert list(values.index) == list(range(len(values)))
        return float(values.sum())

    made = run(aggregated(rows(_KEYS, chunk_rows), total))
    expected = pd.DataFrame({"k": _KEYS, "v": range(len(_KEYS))}).groupby("k", dropna=False)["v"].sum()
    found = dict(zip(made["k"].to_pylist(), made["m"].to_pylist(), strict=True))
    assert found == {None if key != key else int(key): float(value) for key, value in expected.items()}


def test_aggregate_of_all_rows_and_of_none() -> None:
    assert run(aggregated(rows(_KEYS, 4), len, has_key=False))["m"].to_pylist() == [float(len(_KEYS))]
    assert run(aggregated(rows([], 4), len, has_key=False)).num_rows == 0


def test_results_of_changing_types_are_converted_each() -> None:
    def changing(values: pd.Series) -> Any:
        return [1, 2.5, None, float("nan"), True][values.iloc[0] % 5]

    made = run(aggregated(rows(list(range(400)), 64), changing))
    values = [made["m"].to_pylist()[made["k"].to_pylist().index(key)] for key in range(5)]
    assert values == [1.0, 2.5, None, None, 1.0]


@pytest.mark.parametrize("chunk_rows", [1, 3, 100])
def test_rows_that_a_function_returns_for_a_group(chunk_rows: int) -> None:
    def centered(group: pd.DataFrame) -> pd.DataFrame:
        assert list(group.columns) == ["k", "v"]
        if len(group) == 1:
            return pd.DataFrame({"m": []})
        return pd.DataFrame({"m": group["v"] - group["v"].min()})

    made = run(mapped(rows(_KEYS, chunk_rows), centered))
    table = pd.DataFrame({"k": _KEYS, "v": range(len(_KEYS))})
    groups = [group["v"] - group["v"].min() for _, group in table.groupby("k", dropna=False) if len(group) > 1]
    assert sorted(made["m"].to_pylist()) == sorted(float(value) for group in groups for value in group)


def test_series_of_groups_have_the_type_of_the_group_alone() -> None:
    def types(group: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame({"m": [float(group["k"].dtype == "int64")]})

    made = run(mapped(rows([None, 1, 2, None, 3], 100), types))
    assert sorted(made["m"].to_pylist()) == [0.0, 1.0, 1.0, 1.0]


def test_error_of_a_function_is_an_error_of_the_user() -> None:
    def failing(group: pd.DataFrame) -> pd.DataFrame:
        raise KeyError("missing")

    with pytest.raises(UserFunctionError, match="failing: KeyError: 'missing'"):
        run(mapped(rows(_KEYS, 3), failing))
