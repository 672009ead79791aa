"""The dependencies between the pipelines of an instance, and their drawing as a tree with numbers of drivers.

Pipelines have no references to each other; the factories at their ends share an object (a join's hash table, a local
exchange): their *shared state*. A pipeline depends on those whose sinks share state with one of its operators.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyspark_pipeline.exec.operator import OperatorFactory, Pipeline


def dependencies(pipelines: Sequence[Pipeline]) -> dict[int, list[int]]:
    """Return, by pipeline id, the pipelines it depends on, in the order of its operators; there are no cycles."""
    return {
        pipeline.id: [below.id for factory in pipeline.factories[:-1] for below in _feeding(factory, pipelines)]
        for pipeline in pipelines
    }


def operator_needs(pipeline: Pipeline, pipelines: Sequence[Pipeline]) -> dict[int, list[int]]:
    """Return, by operator index, the pipelines it depends on; operators without dependencies are omitted."""
    above = enumerate(pipeline.factories[:-1])
    found = {place: [below.id for below in _feeding(factory, pipelines)] for place, factory in above}
    return {place: needed for place, needed in found.items() if needed}


def tree(pipelines: Sequence[Pipeline]) -> str:
    """Return a drawing of the pipelines, each with ``x N`` for its N drivers: its operators from sink to source.

    The pipelines that an operator depends on are indented below it; a pipeline that several depend on is drawn once.
    """
    needed = {number for numbers in dependencies(pipelines).values() for number in numbers}
    drawn: set[int] = set()
    lines = [line for root in pipelines if root.id not in needed for line in _lines(root, pipelines, drawn, 0)]
    return "\n".join(lines)


def _lines(pipeline: Pipeline, pipelines: Sequence[Pipeline], drawn: set[int], depth: int) -> Iterator[str]:
    margin = "  " * depth
    if pipeline.id in drawn:
        yield f"{margin}pipeline {pipeline.id}, see above"
        return
    drawn.add(pipeline.id)
    yield f"{margin}pipeline {pipeline.id} x {pipeline.dop}"
    for place, factory in enumerate(reversed(pipeline.factories)):
        yield f"{margin}  {factory.name}"
        if place:
            for below in _feeding(factory, pipelines):
                yield from _lines(below, pipelines, drawn, depth + 2)


def _feeding(factory: OperatorFactory, pipelines: Sequence[Pipeline]) -> list[Pipeline]:
    """Return the pipelines whose sinks share state with ``factory``."""
    place = factory.shared_state
    return [p for p in pipelines if place is not None and p.factories[-1].shared_state is place]
