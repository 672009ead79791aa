"""Partial aggregation for grouping sets: groups of all keys are expanded and merged, or else the rows themselves.

The operator starts with the first way (:mod:`before_expand`). If there are almost as many groups as rows, it outputs
what it has and goes on with the second. Both are short chains of operators.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pyspark_pipeline.errors import EngineBugError
from pyspark_pipeline.exec.context import OperatorContext
from pyspark_pipeline.exec.operator import Chunk, Operator, OperatorFactory
from pyspark_pipeline.operators.aggregation.aggregator import AggregateProgram
from pyspark_pipeline.operators.aggregation.streaming import StreamingAggregateOperator
from pyspark_pipeline.operators.expand import ExpandFactory
from pyspark_pipeline.plan.expands import Expand
from pyspark_pipeline.plan.nodes import Aggregate, Settings

#: Groups per hundred rows from which expanding them saves too little: a merge of one costs twice as much as an update.
#: Later rows repeat the groups of the first, so the first few rows decide only if almost each is a group.
_MOST_GROUPS = 60
_FIRST_ROWS, _MOST_FIRST_GROUPS = 1 << 14, 95


class _Chain:
    """Operators that pass chunks on to each other, within one operator."""

    def __init__(self, operators: Sequence[Operator]) -> None:
        self.operators = operators
        self._first = 0

    def prepare(self, context: OperatorContext) -> None:
        for number, operator in enumerate(self.operators):
            operator.prepare(replace(context, memory=context.memory.child(f"{type(operator).__name__} {number}")))

    def need_input(self) -> bool:
        return self._first == 0 and self.operators[0].need_input()

    def push_chunk(self, chunk: Chunk) -> None:
        self.operators[0].push_chunk(chunk)

    def can_step(self) -> bool:
        """Return whether :meth:`step` does anything."""
        return self.operators[-1].has_output() or self._movable() is not None or self._has_finished()

    def step(self) -> Chunk | None:
        """Return a chunk of output; or move a chunk, or the end of an operator's output, to the next; None."""
        if self.operators[-1].has_output():
            return self.operators[-1].pull_chunk()
        place = self._movable()
        if place is not None:
            chunk = self.operators[place].pull_chunk()
            if chunk is not None and chunk.num_rows:
                self.operators[place + 1].push_chunk(chunk)
        elif self._has_finished():
            self.operators[self._first].set_finished()
            self._first += 1
            self.operators[self._first].set_finishing()
        return None

    def is_finished(self) -> bool:
        return self.operators[-1].is_finished()

    def set_finished(self) -> None:
        for operator in self.operators[self._first :]:
            operator.set_finished()
        self._first = len(self.operators) - 1

    def close(self) -> None:
        for operator in self.operators:
            operator.close()

    def _movable(self) -> int | None:
        """Return the place of the last operator whose output the next one takes; None if there is none."""
        for place in range(len(self.operators) - 2, self._first - 1, -1):
            if self.operators[place].has_output() and self.operators[place + 1].need_input():
                return place
        return None

    def _has_finished(self) -> bool:
        return self._first < len(self.operators) - 1 and self.operators[self._first].is_finished()


class GroupingSetsOperator(Operator):
    """Runs a chain whose first operator groups rows, and the chain ``other`` once that is abandoned."""

    def __init__(
        self, grouping: StreamingAggregateOperator, above: Sequence[Operator], other: Sequence[Operator]
    ) -> None:
        self._grouping = grouping
        self._chain = _Chain([grouping, *above])
        self._other: _Chain | None = _Chain(other)
        self._is_switching = self._finishing = False
        self._first_rows = _FIRST_ROWS
        self._held: Chunk | None = None

    def prepare(self, context: OperatorContext) -> None:
        super().prepare(context)
        for chain in self._open():
            chain.prepare(context)

    def need_input(self) -> bool:
        return not self._finishing and self._held is None and self._accepts()

    def _accepts(self) -> bool:
        return not self._is_switching and self._chain.need_input()

    def push_chunk(self, chunk: Chunk) -> None:
        if self._other is None:
            self._chain.push_chunk(chunk)
        elif 0 < self._first_rows < chunk.num_rows:
            self._held = chunk.slice(self._first_rows)
            self._group(chunk.slice(0, self._first_rows))
        else:
            self._group(chunk)

    def _group(self, chunk: Chunk) -> None:
        """Group rows; start to switch to the other chain if there are too many groups."""
        self._chain.push_chunk(chunk)
        is_first, self._first_rows = self._first_rows > 0, max(self._first_rows - chunk.num_rows, 0)
        are_many = is_first and self._first_rows == 0 and self._grouping.groups_per_hundred >= _MOST_FIRST_GROUPS
        if are_many or self._grouping.is_abandoned:
            self._is_switching = True
            self._grouping.set_finishing()

    def has_output(self) -> bool:
        return self._chain.can_step() or self._can_switch() or (self._held is not None and self._accepts())

    def pull_chunk(self) -> Chunk | None:
        if self._can_switch():
            self._switch()
        elif self._held is not None and self._accepts():
            chunk, self._held = self._held, None
            self.push_chunk(chunk)
            self._end_input()
        else:
            return self._chain.step()
        return None

    def _can_switch(self) -> bool:
        return self._is_switching and self._chain.is_finished()

    def _switch(self) -> None:
        """Go on with the other chain."""
        if self._other is None:
            raise EngineBugError("grouping before an expand was abandoned twice")
        self._chain.set_finished()
        self._chain.close()
        self._chain, self._other = self._other, None
        self._is_switching = False
        self._end_input()

    def set_finishing(self) -> None:
        self._finishing = True
        self._end_input()

    def _end_input(self) -> None:
        """Finish the current chain if it gets no more rows."""
        if self._finishing and self._held is None and not self._is_switching:
            self._chain.operators[0].set_finishing()

    def is_finished(self) -> bool:
        return self._finishing and self._held is None and not self._is_switching and self._chain.is_finished()

    def set_finished(self) -> None:
        self._finishing, self._is_switching, self._held = True, False, None
        for chain in self._open():
            chain.set_finished()

    def close(self) -> None:
        for chain in self._open():
            chain.close()
        self.context.memory.reserve(0)

    def _open(self) -> list[_Chain]:
        return [self._chain] if self._other is None else [self._chain, self._other]


class GroupingSetsFactory(OperatorFactory):
    """Makes the operators of ``node``, whose child is an :class:`Expand`, and of ``merging``, its other form."""

    name = "GroupingSets"

    def __init__(self, node: Aggregate, merging: Aggregate, settings: Settings) -> None:
        expand = merging.child
        assert isinstance(expand, Expand)
        assert isinstance(expand.child, Aggregate)
        assert isinstance(node.child, Expand)
        self._grouping = AggregateProgram(expand.child, settings)
        self._expand_groups = ExpandFactory(expand, settings)
        self._merging = AggregateProgram(merging, settings)
        self._expand_rows = ExpandFactory(node.child, settings)
        self._program = AggregateProgram(node, settings)

    def create(self, dop: int, driver_sequence: int) -> GroupingSetsOperator:
        return GroupingSetsOperator(
            StreamingAggregateOperator(self._grouping, most_groups=_MOST_GROUPS),
            [self._expand_groups.create(dop, driver_sequence), StreamingAggregateOperator(self._merging)],
            [self._expand_rows.create(dop, driver_sequence), StreamingAggregateOperator(self._program)],
        )
