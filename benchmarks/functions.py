"""Measures scalar functions over the rows of lineitem: ``select count(f), max(f) from lineitem`` on both engines.

A function that converts must not be slower than Spark's. ``times_faster`` is Spark's median time over the engine's.
``python -m benchmarks.functions --scale 1 --runs 2 --json FILE``; ``--only like,substring`` selects by text.
"""

from __future__ import annotations

import pickle
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.command_line import add_table_options, configuration, emit_document, make_parser
from benchmarks.engine import Engine
from benchmarks.report import versions
from benchmarks.session import PIPELINE, SPARK
from benchmarks.tpch import data

_EXPRESSIONS = r"""
    l_comment; substring(l_comment, 3, 5); substring(l_comment, 3, l_linenumber); upper(l_comment);
    initcap(l_comment); length(l_comment); ascii(l_comment); reverse(l_comment); trim(l_comment);
    concat(l_comment, l_shipmode); concat_ws('-', l_comment, l_shipmode); instr(l_comment, 'the');
    locate('the', l_comment, 3); replace(l_comment, 'the', 'a'); translate(l_comment, 'aeiou', '12345');
    translate(l_comment, 'aeiou', 'áéíóú');
    substring_index(l_comment, ' ', 2); lpad(l_comment, 40, '*'); rpad(l_comment, 10, '*'); repeat(l_shipmode, 3);
    left(l_comment, 4); right(l_comment, 4); l_comment like '%the%a%'; contains(l_comment, 'the');
    startswith(l_comment, 'the'); l_comment rlike '[a-c]+ing'; regexp_replace(l_comment, '[aeiou]+', '-');
    l_comment rlike '(?i)\\\\bFOX'; regexp_replace(l_comment, '(?<=e)[a-z]', '-');
    format_number(cast(l_extendedprice as double), 2);
    regexp_extract(l_comment, '([a-z]+) ([a-z]+)', 2); md5(l_comment); sha2(l_comment, 256); crc32(l_comment);
    base64(encode(l_comment, 'utf-8')); unbase64(base64(encode(l_comment, 'utf-8'))); hex(l_orderkey);
    hex(l_orderkey * l_partkey); bin(l_orderkey * l_partkey);
    conv(cast(l_orderkey as string), 10, 16); luhn_check(cast(l_orderkey as string)); regexp_instr(l_comment, '[x-z]');
    elt(l_linenumber % 3 + 1, l_comment, l_shipmode, l_returnflag); contains(encode(l_comment, 'utf-8'), X'74');
    bit_get(l_orderkey, l_linenumber); bitmap_bucket_number(l_orderkey); bitmap_bit_position(l_orderkey);
    bitmap_count(encode(l_comment, 'utf-8')); quote(l_comment); xxhash64(l_comment); hash(l_comment);
    cast(l_orderkey as string); cast(l_extendedprice as string);
    cast(substring(cast(l_orderkey as string), 1, 4) as int); chr(l_linenumber + 64); bin(l_orderkey);
    l_extendedprice; l_extendedprice * (1 - l_discount); l_extendedprice / l_quantity; l_orderkey % 7;
    l_orderkey div 7; pmod(l_orderkey, 7); abs(l_linenumber - 4); round(l_extendedprice, 1); bround(l_extendedprice);
    floor(l_extendedprice); ceil(l_extendedprice); cast(l_extendedprice as double);
    cast(cast(l_extendedprice as double) as string); cast(l_extendedprice / 7.0D as string);
    round(cast(l_extendedprice as double) * 1.07D, 2);
    ln(cast(l_extendedprice as double)); exp(cast(l_quantity as double)); pow(cast(l_quantity as double), 1.5D);
    asin(l_discount * 1.0D); acos(l_discount * 1.0D); atan(l_quantity * 1.0D); atan2(l_quantity * 1.0D, l_tax * 1.0D);
    sin(l_quantity * 1.0D); cos(l_quantity * 1.0D); tan(l_quantity * 1.0D);
    sinh(l_discount * 1.0D); cosh(l_discount * 1.0D); tanh(l_discount * 1.0D); asinh(l_quantity * 1.0D);
    acosh(l_quantity * 1.0D); atanh(l_discount * 1.0D); cbrt(cast(l_extendedprice as double));
    hypot(l_quantity * 1.0D, l_tax * 1.0D); expm1(l_discount * 1.0D); log1p(cast(l_extendedprice as double));
    sqrt(cast(l_extendedprice as double)); sign(l_linenumber - 4); greatest(l_linenumber, l_suppkey);
    case when l_linenumber > 3 then l_orderkey else l_partkey end; coalesce(nullif(l_linenumber, 3), 0);
    shiftleft(l_orderkey, 3); bit_count(l_orderkey); l_orderkey & 255; cast(l_extendedprice as int);
    cast(l_orderkey as decimal(20, 2)); width_bucket(cast(l_quantity as double), 0D, 50D, 10);
    l_shipdate; year(l_shipdate); month(l_shipdate); dayofweek(l_shipdate); weekofyear(l_shipdate);
    last_day(l_shipdate); date_add(l_shipdate, l_linenumber); datediff(l_receiptdate, l_shipdate);
    add_months(l_shipdate, 3); trunc(l_shipdate, 'MM'); next_day(l_shipdate, 'MON');
    months_between(l_receiptdate, l_shipdate); cast(l_shipdate as string);
    to_date(cast(l_shipdate as string), 'yyyy-MM-dd'); to_timestamp(cast(l_shipdate as string), 'yyyy-MM-dd');
    cast(concat(cast(l_shipdate as string), ' 12:34:5', l_linenumber, '.25') as timestamp);
    date_format(l_shipdate, 'yyyy/MM');
    cast(l_shipdate as timestamp); hour(timestamp_seconds(l_linenumber * 1000003));
    cast(timestamp_seconds(l_linenumber * 1000003) as string);
    date_trunc('HOUR', timestamp_seconds(l_linenumber * 1000003));
    date_format(timestamp_seconds(l_linenumber * 1000003), 'HH:mm');
    from_utc_timestamp(timestamp_seconds(l_linenumber * 1000003), 'Asia/Kathmandu');
    timestamp_seconds(l_orderkey); timestamp_millis(l_orderkey); timestamp_seconds(l_quantity * 1.5D);
    timestamp_seconds(l_extendedprice); timestamp_seconds(l_linenumber * 1000003) + interval '1' day;
    timestamp_seconds(l_orderkey) + interval '1' month; timestampdiff(HOUR, l_shipdate, l_receiptdate);
    unix_timestamp(timestamp_seconds(l_linenumber * 1000003)); from_unixtime(l_orderkey);
    get_json_object(concat('{"key": ', l_orderkey, ', "note": "', l_comment, '", "n": [1, 2.50]}'), '$.note');
    from_json(concat('{"key":', l_orderkey, ',"note":"', l_comment, '","n":[1,2.50]}'), 'key INT, note STRING').note;
    to_json(struct(l_orderkey, l_comment, l_extendedprice, l_shipdate));
    from_csv(concat(l_orderkey, ',"', l_comment, '",', l_extendedprice), 'k BIGINT, c STRING, p DECIMAL(12,2)').p;
    to_csv(struct(l_orderkey, l_comment, l_extendedprice, l_shipdate));
    regexp_replace(l_comment, '[^a-z]', ''); regexp_replace(l_comment, 'the', 'a'); sha1(l_comment);
    format_number(l_extendedprice, 2); format_number(l_orderkey, 0); soundex(l_comment); url_encode(l_comment);
    overlay(l_comment placing 'xyz' from 3); mask(l_comment); encode(l_comment, 'utf-16'); unhex(hex(l_comment));
    find_in_set(l_shipmode, concat(l_comment, ',', l_shipmode)); printf('%05d %s', l_orderkey, l_shipmode);
    parse_url(concat('http://a.b/', l_orderkey, '?x=', l_linenumber), 'QUERY'); to_char(l_extendedprice, '999,999.99');
    make_dt_interval(l_linenumber, 2, 3, 4.5); (l_receiptdate - l_shipdate) * l_tax;
    l_comment like concat('%', l_shipmode, '%'); replace(l_comment, l_returnflag, 'x')
"""
EXPRESSIONS = tuple(text.strip() for text in _EXPRESSIONS.split(";"))


def measure(
    conf: dict[str, str], table: str, expressions: Sequence[str], runs: int, log: Path | None
) -> dict[str, Any]:
    """Run each expression on both engines alternately, ``runs`` times after a warm-up; return the medians."""
    measured: dict[str, Any] = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        Engine(SPARK, conf, log=log) as spark,
        Engine(PIPELINE, conf, log=log) as pipeline,
    ):
        engines = {SPARK: spark, PIPELINE: pipeline}
        for engine in engines.values():
            engine.call("views", tables={"lineitem": table})
        for expression in expressions:
            sql = f"select count(x), max(x) from (select {expression} as x from lineitem)"
            times: dict[str, list[float]] = {name: [] for name in engines}
            rows, reasons = [], []
            for name, engine in engines.items():
                answer = str(Path(folder) / name)
                reasons = engine.call("run", sql=sql, sink="collect", answer=answer)["summary"].get("reasons", [])
                rows.append(pickle.loads(Path(answer).read_bytes())[2])
            for _ in range(runs):
                for name, engine in engines.items():
                    times[name].append(engine.call("run", sql=sql, sink="collect")["seconds"])
            measured[expression] = _entry(times) | {"equal": rows[0] == rows[1], "reasons": reasons}
    return measured


def _entry(times: dict[str, list[float]]) -> dict[str, Any]:
    spark, pipeline = (statistics.median(times[name]) for name in (SPARK, PIPELINE))
    return {"spark_s": round(spark, 3), "pipeline_s": round(pipeline, 3), "times_faster": round(spark / pipeline, 2)}


def summary(measured: dict[str, Any]) -> dict[str, Any]:
    """Return the geometric mean of the ratios of the functions that converted, the least, and those below 1."""
    ratios = {text: entry["times_faster"] for text, entry in measured.items() if not entry["reasons"]}
    slower = sorted((ratio, text) for text, ratio in ratios.items() if ratio < 1)
    return {
        "converted": len(ratios),
        "in_spark": sorted(text for text, entry in measured.items() if entry["reasons"]),
        "geomean": round(statistics.geometric_mean(ratios.values()), 2) if ratios else None,
        "slower_than_spark": {text: ratio for ratio, text in slower},
        "all_equal": all(entry["equal"] for entry in measured.values()),
    }


def main(words: Sequence[str] | None = None) -> int:
    """Run the benchmark and print the JSON document; the exit status is 1 if an answer differs."""
    parser = make_parser("functions", __doc__)
    add_table_options(parser, runs=2)
    parser.add_argument("--only", default="", help="expressions that contain one of these texts, separated by commas")
    arguments = parser.parse_args(words)
    conf = configuration(arguments, {"spark.driver.memory": "4g"})
    table = data.tables(data.make(arguments.scale, arguments.data))["lineitem"]
    chosen = [text for text in EXPRESSIONS if any(part in text for part in arguments.only.split(","))]
    measured = measure(conf, table, chosen, arguments.runs, arguments.log)
    meta = {"versions": versions(), "scale": arguments.scale, "runs": arguments.runs}
    document = {"meta": meta, "functions": measured, "summary": summary(measured)}
    emit_document(document, arguments.json)
    return 0 if document["summary"]["all_equal"] else 1


if __name__ == "__main__":
    sys.exit(main())
