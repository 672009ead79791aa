"""The graph of Spark's SQL page: its boxes, their metrics, and the rows on its edges, tested without a browser."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support.sessions import ENABLED, configured

ROWS = "number of output rows"


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A node of the page's graph: its metrics in the order of the page (name, value), and the ids of its inputs."""

    name: str
    metrics: tuple[tuple[str, str], ...]
    inputs: tuple[int, ...]

    @property
    def is_fragment(self) -> bool:
        """Whether it is a fragment, whose name ends with its number."""
        return self.name.startswith("PipelineFragment ")

    def values(self, metric: str) -> list[str]:
        return [value.replace(",", "") for name, value in self.metrics if name == metric]


pytestmark = pytest.mark.usefixtures("limited_extension")


@pytest.fixture(scope="module")
def views(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ui")
    with configured(spark, {ENABLED: "false"}):
        facts = spark.range(0, 9000, 1, 3).selectExpr("id", "id % 90 AS k", "id % 4500 AS v")
        facts.write.parquet(str(folder / "facts"))
        spark.range(90).coalesce(1).selectExpr("id AS k", "id % 7 AS g").write.parquet(str(folder / "names"))
    for name in ("facts", "names"):
        spark.read.parquet(str(folder / name)).createOrReplaceTempView(f"ui_{name}")
    return folder


def boxes(spark: SparkSession, query: str, aqe: str = "true", **settings: str) -> dict[int, Box]:
    """Run ``query`` and return its graph from the status store, which the SQL page shows."""
    given = {f"spark.pysparkPipeline.{key}": value for key, value in settings.items()}
    with configured(spark, {ENABLED: "true", "spark.sql.adaptive.enabled": aqe, **given}):
        spark.sql(query).collect()
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    store = spark._jsparkSession.sharedState().statusStore()
    execution = store.executionsList().last().executionId()
    graph, values = store.planGraph(execution), store.executionMetrics(execution)
    edges = [(edge.fromId(), edge.toId()) for edge in _items(graph.edges())]
    made = {}
    for node in _items(graph.allNodes()):
        metrics = [(m.name(), values.get(m.accumulatorId())) for m in _items(node.metrics())]
        shown = tuple((name, value.get().split("\n")[-1]) for name, value in metrics if value.isDefined())
        inputs = tuple(source for source, target in edges if target == node.id())
        made[node.id()] = Box(name=node.name(), metrics=shown, inputs=inputs)
    return made


def _items(sequence):  # type: ignore[no-untyped-def]
    return [sequence.apply(i) for i in range(sequence.size())]


def rows_into(graph: dict[int, Box], name: str) -> list[list[str]]:
    """Return the labels of the edges into each box called ``name``: the first row count of the box below."""
    below = [sorted(graph[i].inputs) for i in sorted(graph) if graph[i].name == name]
    return [["".join(graph[source].values(ROWS)[:1]) for source in sources] for sources in below]


@pytest.mark.parametrize("aqe", ["true", "false"])
def test_box_has_one_correct_row_count(spark: SparkSession, views: Path, aqe: str) -> None:
    graph = boxes(spark, "SELECT v, count(*) AS c FROM ui_facts WHERE id >= 4500 GROUP BY v", aqe)
    fragments = [graph[i] for i in sorted(graph) if graph[i].is_fragment]
    exchanges = [graph[i] for i in sorted(graph) if graph[i].name == "PipelineExchange"]
    assert [box.values(ROWS) for box in fragments] == [["4500"], ["4500"]]
    assert [box.values(ROWS) for box in exchanges] == [["4500"]]
    assert rows_into(graph, "PipelineExchange") == [["4500"]]
    assert [box.values("rows read") for box in fragments] == [["4500"], ["6000"]]  # a file of 3000 rows is skipped
    assert fragments[0].metrics[0][0] == exchanges[0].metrics[0][0] == ROWS
    for box in graph.values():
        names = [name for name, _ in box.metrics]
        assert len(names) == len(set(names)), names


def test_fragment_has_only_metrics_of_its_operators(spark: SparkSession, views: Path) -> None:
    scan = boxes(spark, "SELECT id FROM ui_facts WHERE k = 3")
    (box,) = [node for node in scan.values() if node.is_fragment]
    names = {name for name, _ in box.metrics}
    assert {"time in scan", "time in filter", "size of columns read", "number of files read"} <= names
    foreign = ("join", "sort", "aggregate", "spill", "decoding input", "runtime filter", "toArrow", "initialize")
    assert not [name for name in names if any(word in name for word in foreign)]
    grouped = boxes(spark, "SELECT v, count(*) AS c FROM ui_facts GROUP BY v")
    final, partial = (grouped[i] for i in sorted(grouped) if grouped[i].is_fragment)
    assert "time in scan" not in dict(final.metrics) and "size of columns read" not in dict(final.metrics)
    assert "time in decoding input" in dict(final.metrics) and "bytes spilled to disk" in dict(final.metrics)
    assert "time in decoding input" not in dict(partial.metrics) and "time in filter" not in dict(partial.metrics)


def test_join_shows_rows_of_both_sides(spark: SparkSession, views: Path) -> None:
    query = "SELECT /*+ SHUFFLE_HASH(n) */ f.id, n.g FROM ui_facts f JOIN ui_names n ON f.k = n.k WHERE n.g = 3"
    graph = boxes(spark, query, "false", **{"join.reduction": "never"})
    assert rows_into(graph, "PipelineExchange") == [["9000"], ["13"]]
    assert graph[0].values(ROWS) == ["1300"]
    assert {"time in building join tables", "time in runtime filters"} <= {name for name, _ in graph[0].metrics}


def test_fragment_counts_files_of_all_scans_once(spark: SparkSession, views: Path) -> None:
    graph = boxes(spark, "SELECT k FROM ui_facts UNION ALL SELECT k FROM ui_names")
    (box,) = [node for node in graph.values() if node.is_fragment]
    assert (box.values("number of files read"), box.values(ROWS)) == (["4"], ["9090"])


@pytest.mark.parametrize("aqe", ["true", "false"])
def test_range_exchange_samples_are_not_counted_as_output(spark: SparkSession, views: Path, aqe: str) -> None:
    graph = boxes(spark, "SELECT id, v FROM ui_facts ORDER BY v, id", aqe, **{"sort.gatherBytes": "0"})
    scan = [graph[i] for i in sorted(graph) if graph[i].is_fragment][-1]
    assert (scan.values(ROWS), scan.values("number of files read")) == (["9000"], ["3"])
    assert rows_into(graph, "PipelineExchange") == [["9000"]]


def test_exchange_records_are_named_chunks(spark: SparkSession, views: Path) -> None:
    graph = boxes(spark, "SELECT k, sum(v) AS s FROM ui_facts GROUP BY k", "false")
    (exchange,) = [node for node in graph.values() if node.name == "PipelineExchange"]
    assert not [name for name, _ in exchange.metrics if "records" in name]
    assert exchange.values("chunks written") == exchange.values("chunks read") != exchange.values(ROWS)
