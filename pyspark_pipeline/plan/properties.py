"""The physical properties of a node's chunks that are negotiated over the plan, before operators exist.

A column's *plain* form is the Arrow type of its field; a string column may always be dictionary-encoded too. A consumer
may allow more forms of some columns. Each is a permission: the producer may ignore it, column by column and chunk by
chunk.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from pyspark_pipeline.plan.expr import Expr
from pyspark_pipeline.plan.nodes import Field, Node


@dataclass(frozen=True, slots=True, kw_only=True)
class RequiredOutput:
    """The requirements of a consumer on a node's chunks, by ordinal of the output column; default: all columns, plain.

    ``unused``: columns that the consumer does not read, which may have any content of any type, e.g. the null type.
    ``unscaled``: decimal columns that may be their unscaled integers as int32 or int64. ``nulls_dropped``: columns of
    which the consumer drops the rows with NULL, so that a filter may leave these rows to it, whatever its fields state.
    ``conjuncts``, bound to the output: the consumer drops the rows for which one is not true, so that a scan may leave
    them out, unless one can raise.
    """

    unused: frozenset[int] = frozenset()
    unscaled: frozenset[int] = frozenset()
    nulls_dropped: frozenset[int] = frozenset()
    conjuncts: tuple[Expr, ...] = ()

    @classmethod
    def of_columns(
        cls, output: Collection[Field], read: Iterable[int], nulls_dropped: Iterable[int] = ()
    ) -> RequiredOutput:
        """Return the requirement of the columns ``read`` of ``output``, plain; rows with some NULLs are dropped."""
        return cls(unused=frozenset(range(len(output))).difference(read), nulls_dropped=frozenset(nulls_dropped))

    def meet(self, other: RequiredOutput) -> RequiredOutput:
        """Return the requirement that satisfies both consumers."""
        return RequiredOutput(
            unused=self.unused & other.unused,
            unscaled=self.unscaled & other.unscaled,
            nulls_dropped=self.nulls_dropped & other.nulls_dropped,
            conjuncts=tuple(conjunct for conjunct in self.conjuncts if conjunct in other.conjuncts),
        )


#: The requirement of a consumer that declares none: all columns in plain form.
ALL_PLAIN = RequiredOutput()


def require_unchanged(_node: Node, required: RequiredOutput) -> tuple[RequiredOutput]:
    """Require what the consumer requires: it receives the rows of the only child unchanged."""
    return (required,)


def require_same_columns(_node: Node, required: RequiredOutput) -> tuple[RequiredOutput]:
    """Require what the consumer requires of the columns: it receives some of the rows, and the others decide which."""
    return (replace(required, nulls_dropped=frozenset(), conjuncts=()),)
