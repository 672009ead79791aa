"""How the pipelines of an instance hang together, and that as text: which waits for which, with how many drivers.

Pipelines know nothing of each other; the factories at their ends share an object (a join's table, a local
exchange): their *meeting place*. A pipeline whose sink meets an operator of another one comes before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyspark_pipeline.exec.operator import OperatorFactory, Pipeline


def dependencies(pipelines: Sequence[Pipeline]) -> dict[int, list[int]]:
    """Give by number the pipelines that each pipeline needs, in the order of its operators; there are no cycles."""
    return {
        pipeline.id: [below.id for factory in pipeline.factories[:-1] for below in _feeding(factory, pipelines)]
        for pipeline in pipelines
    }


def operator_needs(pipeline: Pipeline, pipelines: Sequence[Pipeline]) -> dict[int, list[int]]:
    """Give by the place of an operator the pipelines that it needs; operators that need none are left out."""
    above = enumerate(pipeline.factories[:-1])
    found = {place: [below.id for below in _feeding(factory, pipelines)] for place, factory in above}
    return {place: needed for place, needed in found.items() if needed}


def tree(pipelines: Sequence[Pipeline]) -> str:
    """Draw the pipelines, each with ``x N`` for its N drivers: its operators from the sink up to the source.

    The pipelines that an operator needs stand indented below it; a pipeline that several need stands once.
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
    """Give the pipelines whose sinks ``factory`` meets."""
    place = factory.meeting_place
    return [p for p in pipelines if place is not None and p.factories[-1].meeting_place is place]
