"""An invalid option fails the affected queries and is named; it fails no command, and nothing if disabled."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import IllegalArgumentException
from pyspark.sql import SparkSession

from pyspark_pipeline.errors import OptionError
from pyspark_pipeline.options import PREFIX, Options

_WRONG = [
    ("cost.enabled", "flase", "spark.pysparkPipeline.cost.enabled is 'flase': allowed is true or false"),
    ("enabled", "tru", "enabled is 'tru': allowed is true or false; did you mean true?"),
    ("join.reduction", "alway", "allowed is one of auto, always, never; did you mean always?"),
    ("batchRows", "-4", "batchRows is '-4': allowed is a whole number from 1 to 1048576"),
    ("joni.broadcastBytes", "1", "is not an option .*; did you mean spark.pysparkPipeline.join.broadcastBytes?"),
    ("Batchrows", "1", "is not an option .*; did you mean spark.pysparkPipeline.batchRows?"),
    ("exclude", "upper, HashAgregate", "exclude has 'HashAgregate': allowed is names .*; did you mean HashAggregate?"),
    ("nothing.like.it", "1", "is not an option .*; there are: spark.pysparkPipeline.aggregate"),
]
_JOIN = "SELECT count(*) FROM range(5) a JOIN range(5) b ON a.id = b.id"


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    """Yield a new session, so that settings end with the test."""
    yield spark.newSession()
    SparkSession.builder.getOrCreate()


@pytest.mark.parametrize(("name", "value", "text"), _WRONG)
def test_invalid_option_fails_queries_but_no_command(session: SparkSession, name: str, value: str, text: str) -> None:
    key = PREFIX + name
    session.sql(f"SET {key}={value}").collect()
    with pytest.raises((IllegalArgumentException, Py4JJavaError), match=text.replace("?", r"\?")):
        session.sql(_JOIN).collect()
    assert session.sql(f"SET {key}").collect()[0].value == value
    session.sql("SHOW TABLES").collect()
    session.sql(f"RESET {key}").collect()
    assert session.sql(_JOIN).collect()[0][0] == 5


@pytest.mark.parametrize(("name", "value", "text"), [case for case in _WRONG if case[0] != "enabled"])
def test_disabled_extension_ignores_invalid_option(session: SparkSession, name: str, value: str, text: str) -> None:
    session.sql(f"SET {PREFIX}{name}={value}").collect()
    session.sql(f"SET {PREFIX}enabled=false").collect()
    assert session.sql(_JOIN).collect()[0][0] == 5
    session.sql("RESET").collect()


def test_prefix_in_wrong_case_is_suggested(session: SparkSession) -> None:
    session.sql("SET spark.pysparkpipeline.enabled=false").collect()
    text = r"did you mean spark\.pysparkPipeline\.enabled"
    with pytest.raises((IllegalArgumentException, Py4JJavaError), match=text):
        session.sql(_JOIN).collect()


def test_invalid_options_are_listed_at_application_start(spark: SparkSession) -> None:
    jvm = spark._jvm
    assert jvm is not None
    conf = jvm.org.apache.spark.SparkConf(False).set(PREFIX + "batchRow", "5").set(PREFIX + "strict", "yes")
    settings = jvm.org.apache.spark.sql.pysparkpipeline.Settings
    wrong = settings.wrong(conf)
    assert [wrong.apply(place).split(":")[0].split(";")[0] for place in range(wrong.size())] == [
        "spark.pysparkPipeline.batchRow is not an option of pyspark_pipeline",
        "spark.pysparkPipeline.strict is 'yes'",
    ]
    assert not settings.isStrict(conf)
    assert settings.isStrict(conf.set(PREFIX + "strict", "TRUE"))


def test_worker_suggests_options() -> None:
    with pytest.raises(OptionError, match=r"not an option; did you mean spark\.pysparkPipeline\.batchRows\?"):
        Options({"batchrow": "1"})
