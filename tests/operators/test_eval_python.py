"""Calls of the user's Python functions: batches, arguments by name, chains, errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.serializers import CloudPickleSerializer
from pyspark.sql.types import LongType
from pyspark.util import PythonEvalType

from pyspark_pipeline.datatypes import parse_type
from pyspark_pipeline.errors import UserFunctionError
from pyspark_pipeline.operators.python_functions.calls import use_calls_of
from pyspark_pipeline.plan.expr import ColumnRef
from pyspark_pipeline.plan.python_functions import BatchLimits, EvalPython, PythonCall, PythonFunctions
from pyspark_pipeline.spark.python_calls import load_calls
from tests.operators.aggregate_kit import chunks_of, leaf
from tests.operators.kit import Chunks, fields, run

_INPUT = '{"type":"struct","fields":[{"name":"_0","type":"long","nullable":true,"metadata":{}}]}'
_LIMITS = BatchLimits(10, 2**31 - 1)

Function = Callable[..., Any]


@pytest.fixture(autouse=True)
def _calls() -> None:
    use_calls_of(load_calls)


def numbers(rows: int, chunk_rows: int = 7) -> Chunks:
    return leaf("k:bigint", chunks_of(pa.table({"k": pa.array(range(rows), pa.int64())}), chunk_rows))


def call(*functions: Function, name: str | None = None) -> PythonCall:
    """Return the call of ``functions``, each over the result of the one before, with the column as argument."""
    commands = tuple(CloudPickleSerializer().dumps((function, LongType())) for function in functions)
    return PythonCall(name=functions[0].__name__, arguments=((0, name),), commands=commands)


def eval_python(
    child: Chunks, calls: Sequence[PythonCall], *, row_wise: bool = False, limits: BatchLimits = _LIMITS
) -> EvalPython:
    form = PythonEvalType.SQL_ARROW_BATCHED_UDF if row_wise else PythonEvalType.SQL_SCALAR_ARROW_UDF
    return EvalPython(
        output=(*child.output, *fields(", ".join(f"r{i}:bigint" for i in range(len(calls))))),
        functions=PythonFunctions(
            eval_type=form,
            limits=limits,
            input_type=_INPUT,
            conf={"spark.sql.session.timeZone": "UTC"},
            calls=tuple(calls),
            result_types=(parse_type("bigint"),) * len(calls),
        ),
        arguments=(ColumnRef(ordinal=0, type=child.output[0].type),),
        child=child,
    )


def number_of_rows(column: pa.Array) -> pa.Array:
    return pa.array([len(column)] * len(column))


@pytest.mark.parametrize("rows", [0, 1, 9, 10, 11, 25])
@pytest.mark.parametrize("chunk_rows", [1, 7, 100])
def test_function_gets_batches_of_the_maximum(rows: int, chunk_rows: int) -> None:
    made = run(eval_python(numbers(rows, chunk_rows), [call(number_of_rows)]))
    assert made["k"].to_pylist() == list(range(rows))
    assert made["r0"].to_pylist() == [10] * (rows // 10 * 10) + [rows % 10] * (rows % 10)


@pytest.mark.parametrize("rows", [0, 12, 13, 14, 40])
@pytest.mark.parametrize("chunk_rows", [1, 7, 100])
def test_batches_end_at_the_row_with_which_they_have_the_bytes(rows: int, chunk_rows: int) -> None:
    """12 bigints have 98 bytes, with 2 for the bitmap of NULLs, and 13 have 106."""
    made = run(eval_python(numbers(rows, chunk_rows), [call(number_of_rows)], limits=BatchLimits(1000, 100)))
    assert made["k"].to_pylist() == list(range(rows))
    assert made["r0"].to_pylist() == [13] * (rows // 13 * 13) + [rows % 13] * (rows % 13)


def test_calls_get_arguments_by_name_and_results_of_other_functions() -> None:
    calls = [call(lambda k: pc.add(k, 1), name="k"), call(lambda k: pc.add(k, 1), lambda k: pc.multiply(k, 2))]
    made = run(eval_python(numbers(12), calls))
    assert made["r0"].to_pylist() == [k + 1 for k in range(12)]
    assert made["r1"].to_pylist() == [(k + 1) * 2 for k in range(12)]


def test_function_of_values_gets_one_row_at_a_time() -> None:
    made = run(eval_python(numbers(12), [call(lambda k: k * k)], row_wise=True))
    assert made["r0"].to_pylist() == [k * k for k in range(12)]


@pytest.mark.parametrize("error", [ValueError, SystemExit])
def test_error_of_a_function_has_its_own_traceback(error: type[BaseException]) -> None:
    def fails(_column: pa.Array) -> pa.Array:
        raise error("the user's text")

    with pytest.raises(UserFunctionError, match="fails: .*the user's text") as caught:
        run(eval_python(numbers(3), [call(fails)]))
    assert type(caught.value.error) is error
    trace = caught.value.trace
    names = []
    while trace is not None:
        names.append(trace.tb_frame.f_globals["__name__"])
        trace = trace.tb_next
    assert names and not any(name.startswith("pyspark_pipeline") for name in names)
