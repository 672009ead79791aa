"""Runs Spark's own SQL test files on both engines: those of a jar with Spark's tests, ``spark-sql_2.13-…-tests.jar``.

``python -m tests.support.spark_suite JAR`` prints each statement whose rows, names of columns or error condition
differ, and how many are equal; Maven Central has the jar of each release. Each engine runs all files in a process of
its own; that of Spark is without the extension. ``--only REGEX`` chooses files, ``--set KEY=VALUE`` adds a setting,
and ``--columns`` switches the rules of the optimizer off that would compute constants, so that the engine computes
them.

Rows are compared without their order.
"""

from __future__ import annotations

import argparse
import os
import pickle
import re
import subprocess
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tests.support import sessions
from tests.support.compare import difference
from tests.support.sessions import Outcome

_ENGINES = ("spark", "pipeline")
_INPUTS, _DATA = "sql-tests/inputs/", "test-data/postgresql/"
_ZONE = "America/Los_Angeles"
_OPTIMIZER = "org.apache.spark.sql.catalyst.optimizer."

#: Files of commands, of functions that a test of Spark registers, or that Spark's own test ignores.
_LEFT_OUT = re.compile(
    r"^(udf|udaf|udtf)/|ignored\.sql|explain|describe|show|change-column|keywords|to_from_avro|transform\.sql"
)
_COMMAND = re.compile(r"\s*(?:desc|describe|show|explain|set|create|drop|insert|alter|use)\b", re.IGNORECASE)
_NUMBERS = """unique1 int, unique2 int, two int, four int, ten int, twenty int, hundred int, thousand int,
    twothousand int, fivethous int, tenthous int, odd int, even int, stringu1 string, stringu2 string, string4 string"""
_TABLES = {
    "aggtest": ("agg", "a int, b float"),
    "onek": ("onek", _NUMBERS),
    "tenk1": ("tenk", _NUMBERS),
}


#: A statement by its file and its number in it, and the text.
Statement: TypeAlias = tuple[str, int, str]


@dataclass(frozen=True, slots=True)
class SqlFile:
    """A file: the settings it asks for, the files whose statements it begins with, and its statements."""

    settings: list[str]
    imports: list[str]
    statements: list[str]


def parse(text: str) -> SqlFile:
    """Read a file as Spark's own test does: statements end with a semicolon, or are between delimiters."""
    settings: list[str] = []
    imports: list[str] = []
    parts: list[tuple[bool, list[str]]] = [(False, [])]
    for line in text.split("\n"):
        words = line.strip()
        if words.startswith("--SET "):
            settings += words.removeprefix("--SET ").split(",")
        elif words.startswith("--IMPORT "):
            imports.append(words.removeprefix("--IMPORT ").strip())
        elif words.startswith("--QUERY-DELIMITER"):
            parts.append((words.endswith("START"), []))
        elif not words.startswith("--") or parts[-1][0]:
            parts[-1][1].append(line)
    statements: list[str] = []
    for is_one, lines in parts:
        code = "\n".join(lines)
        statements += [code] if is_one else re.split(r"(?<=[^\\]);", code)
    return SqlFile(settings, imports, [code.strip() for code in statements if code.strip()])


def _run_all(engine: str, folder: Path, out: Path, only: str, settings: Sequence[str]) -> None:
    """Run the files of an unpacked jar; write the outcome of each statement."""
    chosen = {"spark.sql.session.timeZone": _ZONE, "spark.driver.memory": "3g"}
    chosen.update(dict(pair.split("=", 1) for pair in settings))
    work = Path(tempfile.mkdtemp())
    os.chdir(work)
    spark = sessions.start(work, vanilla=engine == "spark", settings=chosen)
    os.environ["TZ"] = _ZONE
    time.tzset()
    jvm: Any = spark._jvm
    jvm.java.util.TimeZone.setDefault(jvm.java.util.TimeZone.getTimeZone(_ZONE))
    for name, (file, schema) in _TABLES.items():
        rows = spark.read.options(delimiter="\t").schema(schema).csv(str(folder / _DATA / f"{file}.data"))
        rows.write.saveAsTable(name)
    done: dict[Statement, Outcome] = {}
    inputs = folder / _INPUTS
    for path in sorted(inputs.rglob("*.sql")):
        name = str(path.relative_to(inputs))
        if _LEFT_OUT.search(name) or not re.search(only, name):
            continue
        began = time.monotonic()
        for number, (sql, outcome) in enumerate(_run_file(spark, path, inputs, engine == "pipeline")):
            done[name, number, sql] = outcome
        _clean(spark)
        print(f"{engine}: {name}, {time.monotonic() - began:.1f} s", flush=True)
    out.write_bytes(pickle.dumps(done))
    spark.stop()


def _run_file(spark: SparkSession, path: Path, inputs: Path, is_pipeline: bool) -> Iterator[tuple[str, Outcome]]:
    session = spark.newSession()
    file = parse(path.read_text(encoding="utf-8"))
    imported = [parse((inputs / name).read_text(encoding="utf-8")) for name in file.imports]
    is_ansi = "nonansi/" not in str(path)
    session.conf.set("spark.sql.ansi.enabled", str(is_ansi).lower())
    for pair in [pair for part in [*imported, file] for pair in part.settings]:
        key, _, value = pair.strip().partition("=")
        if session.conf.isModifiable(key):
            session.conf.set(key, value)
    numbers = [(number, str(number)) for number in range(1, 101)]
    session.createDataFrame(numbers, "key int, value string").coalesce(1).createOrReplaceTempView("testdata")
    arrays = [([2, 3, 4], [[1, 2], [3, 4]]), ([1, 2, 3], [[4, 5]])]
    kinds = "arraycol array<int>, nestedarraycol array<array<int>>"
    session.createDataFrame(arrays, kinds).coalesce(1).createOrReplaceTempView("arraydata")
    maps = [({key: str(key) for key in range(1, last)},) for last in (6, 5, 4, 3, 2)]
    session.createDataFrame(maps, "mapcol map<int,string>").coalesce(1).createOrReplaceTempView("mapdata")
    for sql in [sql for part in [*imported, file] for sql in part.statements]:
        try:
            yield sql, sessions.run(session, sql, pipeline=is_pipeline)
        except (TypeError, ValueError, OverflowError) as error:  # Python has no such value
            yield sql, Outcome(error=(type(error).__name__, None), message=str(error))


def _clean(spark: SparkSession) -> None:
    """Drop what a file has left."""
    for (database,) in spark.sql("SHOW DATABASES").collect():
        if database != "default":
            spark.sql(f"DROP DATABASE IF EXISTS `{database}` CASCADE")
    for row in spark.sql("SHOW TABLES IN default").collect():
        if not row["isTemporary"] and row["tableName"] not in _TABLES:
            for kind in ("TABLE", "VIEW"):
                try:
                    spark.sql(f"DROP {kind} IF EXISTS `{row['tableName']}`")
                except PySparkException:  # it is of the other kind
                    continue
    spark.catalog.clearCache()


def _difference(sql: str, vanilla: Outcome, pipeline: Outcome) -> str | None:
    if vanilla.error != pipeline.error:
        return f"{vanilla.error} {vanilla.message[:300]}\n  {pipeline.error} {pipeline.message[:300]}"
    if vanilla.error or _COMMAND.match(sql):
        return None
    return difference(vanilla.rows or [], pipeline.rows or [])


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare the engines; return 1 if a statement differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("jar", type=Path)
    parser.add_argument("--only", default="", metavar="REGEX")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--columns", action="store_true")
    parser.add_argument("--engine", choices=_ENGINES, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    rules = ["ConvertToLocalRelation", *(["ConstantFolding", "PropagateEmptyRelation"] if options.columns else [])]
    excluded = "spark.sql.optimizer.excludedRules=" + ",".join(_OPTIMIZER + rule for rule in rules)
    if options.engine:
        _run_all(options.engine, options.jar, options.out, options.only, [excluded, *options.set])
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with zipfile.ZipFile(options.jar) as jar:
            jar.extractall(folder, [entry for entry in jar.namelist() if entry.startswith((_INPUTS, _DATA))])
        more = [part for pair in options.set for part in ("--set", pair)] + ["--columns"] * options.columns
        command = [sys.executable, "-m", "tests.support.spark_suite", name, "--only", options.only, *more]
        running = [
            subprocess.Popen([*command, "--engine", engine, "--out", str(folder / engine)]) for engine in _ENGINES
        ]
        if any([process.wait() for process in running]):
            return 1
        ran = [pickle.loads((folder / engine).read_bytes()) for engine in _ENGINES]
    return _report(*ran)


def _report(vanilla: dict[Statement, Outcome], pipeline: dict[Statement, Outcome]) -> int:
    counts: Counter[str] = Counter()
    for (name, number, sql), expected in vanilla.items():
        found = pipeline[name, number, sql]
        text = _difference(sql, expected, found)
        counts["equal" if text is None else "different"] += 1
        if text is not None:
            print(f"{name}:{number}\n{sql}\n  {text}\n")
        if found.conversion and found.conversion.operators:
            counts["plans"] += 1
            counts["converted plans"] += found.conversion.converted == found.conversion.operators
            counts["converted"] += found.conversion.converted
            counts["operators"] += found.conversion.operators
    print(
        f"{counts['equal']} statements are equal, {counts['different']} differ; {counts['converted plans']} of "
        f"{counts['plans']} plans convert wholly, {counts['converted']} of {counts['operators']} operators"
    )
    return int(counts["different"] > 0)


if __name__ == "__main__":
    sys.exit(main())
