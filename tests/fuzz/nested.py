"""Random queries over random nested types: access, collections, lambdas, generators, keys, aggregates and JSON.

An expression grows from a column: each step applies something that fits its type. Any row may raise, in which case both
engines must.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NamedTuple

from tests.fuzz.nested_data import Type, random_type
from tests.fuzz.queries import Query

_INT, _LONG, _TEXT, _BOOL = Type("int"), Type("bigint"), Type("string"), Type("boolean")
_NUMBERS = ("tinyint", "int", "bigint", "float", "double", "decimal(9,2)", "decimal(22,4)")
_LITERALS = {
    "boolean": ["true", "false"], "tinyint": ["1Y", "-1Y"], "int": ["0", "1", "-1", "3"], "bigint": ["5L", "-1L"],
    "float": ["1.5F", "float('NaN')"], "double": ["0.0D", "0.1D", "double('NaN')"],
    "decimal(9,2)": ["CAST(1.25 AS DECIMAL(9,2))"], "decimal(22,4)": ["CAST(-1.5 AS DECIMAL(22,4))"],
    "string": ["'a'", "''", "'é'"], "binary": ["X'61'"], "date": ["DATE'2000-02-29'"],
    "timestamp": ["TIMESTAMP'1970-01-01 00:00:00'"],
}  # fmt: skip


class Value(NamedTuple):
    """An expression and its type."""

    sql: str
    type: Type


Step = Callable[["NestedMaker", Value], Value]


class NestedMaker:
    """Generator of the schema and the queries of one seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.columns = {
            f"c{number}": random_type(self._random, self._random.choice([1, 2, 2, 3])) for number in range(5)
        }
        self._scope = [Value(name, kind) for name, kind in self.columns.items()]
        self._lambdas = 0

    @property
    def schema(self) -> str:
        """The columns as DDL."""
        return ", ".join(["id BIGINT", *(f"{name} {kind.sql}" for name, kind in self.columns.items())])

    def query(self, table: str) -> Query:
        """Build one query over ``table``, which has the columns and a unique ``id``."""
        makers = [self._projection, self._projection, self._generated, self._aggregation, self._joined, self._sorted,
                  self._combined, self._windowed]  # fmt: skip
        return self._random.choice(makers)(table)

    def _projection(self, table: str) -> Query:
        items = ", ".join(f"{self._value(3).sql} AS v{number}" for number in range(self._random.randint(1, 4)))
        return Query(sql=f"SELECT id, {items} FROM {table}{self._where()}", approximate=False)

    def _generated(self, table: str) -> Query:
        sources = [value for value in self._scope if value.type.kind in ("array", "map")]
        source = self._random.choice(sources) if sources else self._array_of(self._value(1))
        outer = self._random.choice(["", "OUTER "])
        names = ["k", "e"] if source.type.kind == "map" else ["e"]
        made = [Value(name, part) for name, part in zip(names, source.type.parts, strict=True)]
        call = self._random.choice(["explode", "posexplode"])
        if source.type.kind == "array" and source.type.parts[0].kind == "struct" and self._chance(0.5):
            call, names = "inline", [f"f{number}" for number in range(len(source.type.parts[0].parts))]
            made = [Value(name, part) for name, part in zip(names, source.type.parts[0].parts, strict=True)]
        if call == "posexplode":
            names = ["p", *names]
            made.append(Value("p", _INT))
        view = f" LATERAL VIEW {outer}{call}({source.sql}) g AS {', '.join(names)}"
        before, self._scope = self._scope, [*made, *made, *self._scope]
        items = ", ".join(f"{self._value(2).sql} AS v{number}" for number in range(self._random.randint(1, 3)))
        sql = f"SELECT id, {items} FROM {table}{view}{self._where()}"
        if self._chance(0.3):
            grouped = self._key(1).sql
            sql = f"SELECT {grouped} AS k0, count(*), min(id), max({self._key(1).sql}) FROM {table}{view} GROUP BY 1"
        self._scope = before
        return Query(sql=sql, approximate=False)

    def _aggregation(self, table: str) -> Query:
        keys = [f"{self._key(2).sql} AS k{number}" for number in range(self._random.choice([0, 1, 1, 2]))]
        calls = [f"{self._call()} AS a{number}" for number in range(self._random.randint(1, 4))]
        group = f" GROUP BY {', '.join(str(place + 1) for place in range(len(keys)))}" if keys else ""
        return Query(sql=f"SELECT {', '.join(keys + calls)} FROM {table}{self._where()}{group}", approximate=True)

    def _call(self) -> str:
        filtered = f" FILTER (WHERE {self._condition()})" if self._chance(0.2) else ""
        value, key = self._value(1).sql, self._key(1).sql
        call = self._random.choice([
            f"count({value})", f"count(DISTINCT {key})", f"min({key})", f"max({key})", f"max_by({value}, id)",
            f"min_by({value}, id)", f"sort_array(collect_list({key}))", f"sort_array(collect_set({key}))",
            f"max_by({value}, struct({key}, id))", f"count(DISTINCT {key}, {self._key(1).sql})",
        ])  # fmt: skip
        if call.startswith("sort_array"):
            return call if not filtered else f"{call[:-1]}{filtered})"
        return f"{call}{filtered}"

    def _joined(self, table: str) -> Query:
        kind = self._random.choice(["JOIN", "LEFT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN"])
        key = self._key(2).sql
        some = self._value(1).sql
        sides = [
            f"(SELECT id AS i{side}, {key} AS k{side}, {some} AS v{side} FROM {table} WHERE id % 3 = {side})"
            for side in (0, 1)
        ]
        operator = self._random.choice(["=", "=", "<=>"])
        shown = "*" if "SEMI" not in kind and "ANTI" not in kind else "i0, k0, v0"
        hint = self._random.choice(["", "/*+ BROADCAST(r) */ ", "/*+ SHUFFLE_HASH(r) */ ", "/*+ MERGE(r) */ "])
        return Query(
            sql=f"SELECT {hint}{shown} FROM {sides[0]} l {kind} {sides[1]} r ON k0 {operator} k1", approximate=False
        )

    def _sorted(self, table: str) -> Query:
        order = self._random.choice(["", " DESC", " NULLS LAST", " DESC NULLS FIRST"])
        limit = self._random.choice(["", " LIMIT 13", " LIMIT 1000", " LIMIT 9 OFFSET 5"])
        items = f"id, {self._value(2).sql} AS v, {self._key(2).sql} AS k"
        return Query(
            sql=f"SELECT {items} FROM {table}{self._where()} ORDER BY k{order}, id{limit}",
            approximate=False,
            ordered=True,
        )

    def _combined(self, table: str) -> Query:
        word = self._random.choice(["UNION ALL", "UNION", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL"])
        value = self._key(2).sql if word != "UNION ALL" else self._value(2).sql
        parts = [f"SELECT {value} AS v FROM {table} WHERE id % {divisor} = 0" for divisor in (2, 3)]
        return Query(sql=f" {word} ".join(parts), approximate=False)

    def _windowed(self, table: str) -> Query:
        value, key = self._value(1).sql, self._key(1).sql
        calls = [
            f"row_number() OVER (PARTITION BY {key} ORDER BY id)", f"lag({value}) OVER (ORDER BY id)",
            f"lead({value}, 2) OVER (PARTITION BY {key} ORDER BY id)", f"rank() OVER (ORDER BY {key})",
            f"first_value({value}) IGNORE NULLS OVER (PARTITION BY id % 4 ORDER BY id)",
            f"max({key}) OVER (PARTITION BY id % 3 ORDER BY id ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)",
            f"min({key}) OVER (PARTITION BY id % 5)", f"count({value}) OVER (PARTITION BY {key})",
            f"collect_list({value}) OVER (PARTITION BY id % 6 ORDER BY id)",
        ]  # fmt: skip
        items = ", ".join(f"{call} AS w{number}" for number, call in enumerate(self._random.sample(calls, 2)))
        return Query(sql=f"SELECT id, {items} FROM {table}", approximate=False)

    def _where(self) -> str:
        return f" WHERE {self._condition()}" if self._chance(0.5) else ""

    def _condition(self) -> str:
        value = self._value(2)
        if value.type.kind == "boolean":
            return value.sql
        if self._chance(0.3) or not value.type.is_orderable:
            return f"{value.sql} IS {self._random.choice(['', 'NOT '])}NULL"
        operator = self._random.choice(["=", "<", ">=", "<>", "<=>"])
        return f"{value.sql} {operator} {self._like(value.type).sql}"

    def _key(self, steps: int) -> Value:
        """Build a value that Spark can compare."""
        for _ in range(20):
            value = self._value(steps)
            if value.type.is_orderable:
                return value
        return Value("id", _LONG)

    def _value(self, steps: int) -> Value:
        value = self._random.choice(self._scope)
        for _ in range(self._random.randint(0, steps)):
            fitting = [*_STEPS[value.type.kind if value.type.parts else "flat"], *_ANY]
            value = self._random.choice(fitting)(self, value)
        return value

    def _like(self, kind: Type) -> Value:
        """Build another value of a type: a column, a constant or one made of parts."""
        same = [value for value in self._scope if value.type == kind]
        if same and self._chance(0.7):
            return self._random.choice(same)
        if self._chance(0.1):
            return Value(f"CAST(NULL AS {kind.sql})", kind)
        parts = [self._like(part).sql for part in kind.parts]
        if kind.kind == "array":
            return Value(f"array({', '.join(parts * self._random.randint(1, 2))})", kind)
        if kind.kind == "map":
            # A key must not be NULL.
            return Value(f"map({self._constant(kind.parts[0])}, {parts[1]})", kind)
        if kind.kind == "struct":
            named = ", ".join(f"'{name}', {part}" for name, part in zip(kind.names, parts, strict=True))
            return Value(f"named_struct({named})", kind)
        return Value(self._random.choice(_LITERALS[kind.kind]), kind)

    def _constant(self, kind: Type) -> str:
        if kind.kind == "struct":
            named = (f"'{name}', {self._constant(part)}" for name, part in zip(kind.names, kind.parts, strict=True))
            return f"named_struct({', '.join(named)})"
        return self._random.choice(_LITERALS[kind.kind])

    def _array_of(self, value: Value) -> Value:
        return Value(f"array({value.sql}, {self._like(value.type).sql})", Type("array", (value.type,)))

    def _chance(self, probability: float) -> bool:
        return self._random.random() < probability

    # Steps: each takes a value and returns one that is made of it.

    def _any(self, value: Value) -> Value:
        other = self._like(value.type).sql
        calls = [f"coalesce({value.sql}, {other})", f"IF(id % 3 = 0, {other}, {value.sql})",
                 f"CASE WHEN id % 2 = 0 THEN {value.sql} END"]  # fmt: skip
        return Value(self._random.choice(calls), value.type)

    def _wrapped(self, value: Value) -> Value:
        other = self._like(value.type)
        pick = self._random.randint(0, 3)
        if pick == 0:
            return self._array_of(value)
        if pick == 1:
            return Value(
                f"named_struct('x', {value.sql}, 'y', {other.sql})", Type("struct", (value.type,) * 2, ("x", "y"))
            )
        if pick == 2:
            return Value(f"map('k', {value.sql}, 'l', {other.sql})", Type("map", (_TEXT, value.type)))
        return Value(f"struct({value.sql} AS z)", Type("struct", (value.type,), ("z",)))

    def _described(self, value: Value) -> Value:
        calls = [(f"CAST({value.sql} AS STRING)", _TEXT), (f"({value.sql} IS NULL)", _BOOL)]
        if value.type.is_writable_json:
            calls.append((f"to_json(struct({value.sql} AS j))", _TEXT))
        if value.type.is_orderable:
            other = self._like(value.type).sql
            calls += [(f"hash({value.sql})", _INT), (f"xxhash64({value.sql}, id)", _LONG),
                      (f"({value.sql} {self._random.choice(['=', '<=>', '<', '>='])} {other})", _BOOL),
                      (f"({value.sql} IN ({other}, {self._like(value.type).sql}))", _BOOL)]  # fmt: skip
        sql, kind = self._random.choice(calls)
        return Value(sql, kind)

    def _through_json(self, value: Value) -> Value:
        if not value.type.is_json:
            return self._described(value)
        wrapper = Type("struct", (value.type,), ("j",))
        return Value(f"from_json(to_json(struct({value.sql} AS j)), '{wrapper.sql}').j", value.type)

    def _field(self, value: Value) -> Value:
        place = self._random.randrange(len(value.type.names))
        return Value(f"{value.sql}.{value.type.names[place]}", value.type.parts[place])

    def _flat(self, value: Value) -> Value:
        if value.type.kind == "string":
            texts = [f"upper({value.sql})", f"concat({value.sql}, 'x')", f"substring({value.sql}, 1, 2)"]
            pick = self._random.randint(0, 2)
            if pick == 0:
                return Value(f"split({value.sql}, '[ ,]')", Type("array", (_TEXT,)))
            return Value(self._random.choice(texts), _TEXT) if pick == 1 else Value(f"length({value.sql})", _INT)
        if value.type.kind in ("tinyint", "int"):
            return Value(f"sequence(0, {value.sql} % 4)", Type("array", (_INT,)))
        if value.type.kind in _NUMBERS:
            return Value(f"({value.sql} > {self._like(value.type).sql})", _BOOL)
        return self._described(value)

    def _element(self, value: Value) -> Value:
        part = value.type.parts[0]
        index = self._random.choice(["0", "1", "id % 4", "5", "-1"])
        one = self._random.choice(["1", "-1", "1 + id % 3", "2"])
        one = f"CAST({one} AS INT)"
        calls = [f"{value.sql}[{index}]", f"get({value.sql}, {index})", f"element_at({value.sql}, {one})",
                 f"try_element_at({value.sql}, {one})"]  # fmt: skip
        return Value(self._random.choice(calls), part)

    def _array_to_array(self, value: Value) -> Value:
        sql, part = value.sql, value.type.parts[0]
        other, one = self._like(value.type).sql, self._like(part).sql
        calls = [f"reverse({sql})", f"slice({sql}, 1, 2)", f"slice({sql}, -2, 2)", f"concat({sql}, {other})",
                 f"array_append({sql}, {one})", f"array_prepend({sql}, {one})", f"array_compact({sql})",
                 f"array_insert({sql}, 2, {one})", f"array_repeat({sql}, 2)[0]"]  # fmt: skip
        if part.is_orderable:
            calls += [f"array_distinct({sql})", f"array_union({sql}, {other})", f"array_except({sql}, {other})",
                      f"array_intersect({sql}, {other})", f"array_remove({sql}, {one})", f"sort_array({sql})",
                      f"sort_array({sql}, false)", f"array_sort({sql})"]  # fmt: skip
        return Value(self._random.choice(calls), value.type)

    def _array_to_flat(self, value: Value) -> Value:
        sql, part = value.sql, value.type.parts[0]
        calls = [Value(f"size({sql})", _INT), Value(f"cardinality({sql})", _INT)]
        if part.is_orderable:
            one = self._like(part).sql
            calls += [Value(f"array_contains({sql}, {one})", _BOOL), Value(f"array_position({sql}, {one})", _LONG),
                      Value(f"array_max({sql})", part), Value(f"array_min({sql})", part),
                      Value(f"arrays_overlap({sql}, {self._like(value.type).sql})", _BOOL)]  # fmt: skip
        if part.kind == "string":
            calls.append(Value(f"array_join({sql}, ',', '-')", _TEXT))
        if part.kind == "array":
            calls += [Value(f"flatten({sql})", part)] * 3
        if part.kind == "struct":
            place = self._random.randrange(len(part.names))
            calls += [Value(f"{sql}.{part.names[place]}", Type("array", (part.parts[place],)))] * 3
        return self._random.choice(calls)

    def _lambda(self, names: list[tuple[str, Type]], body: Callable[[], Value]) -> Value:
        """Build the body of a lambda with its parameters in scope."""
        before, self._scope = self._scope, [*(Value(name, kind) for name, kind in names), *self._scope[:2]]
        value = body()
        self._scope = before
        return value

    def _name(self) -> str:
        self._lambdas += 1
        return f"x{self._lambdas}"

    def _array_lambda(self, value: Value) -> Value:
        sql, part, name, second = value.sql, value.type.parts[0], self._name(), self._name()
        pick = self._random.randint(0, 5)
        if pick == 0:
            made = self._lambda([(name, part)], lambda: self._value(2))
            return Value(f"transform({sql}, {name} -> {made.sql})", Type("array", (made.type,)))
        if pick == 1:
            made = self._lambda([(name, part), (second, _INT)], lambda: self._value(1))
            return Value(f"transform({sql}, ({name}, {second}) -> {made.sql})", Type("array", (made.type,)))
        if pick == 2:
            condition = self._lambda([(name, part)], lambda: Value(self._condition(), _BOOL)).sql
            return Value(f"filter({sql}, {name} -> {condition})", value.type)
        if pick == 3:
            condition = self._lambda([(name, part)], lambda: Value(self._condition(), _BOOL)).sql
            return Value(f"{self._random.choice(['exists', 'forall'])}({sql}, {name} -> {condition})", _BOOL)
        if pick == 4:
            call = f"length(CAST({name} AS STRING))"
            return Value(f"aggregate({sql}, 0, ({second}, {name}) -> {second} + coalesce({call}, 1))", _INT)
        other = self._like(value.type)
        made = self._lambda([(name, part), (second, part)], lambda: self._value(1))
        return Value(f"zip_with({sql}, {other.sql}, ({name}, {second}) -> {made.sql})", Type("array", (made.type,)))

    def _zipped(self, value: Value) -> Value:
        other = self._like(value.type).sql
        pairs = Type("struct", value.type.parts * 2, ("p", "q"))
        zipped = Type("array", (pairs,))
        return Value(f"CAST(arrays_zip({value.sql}, {other}) AS {zipped.sql})", zipped)

    def _map_access(self, value: Value) -> Value:
        key = self._constant(value.type.parts[0])
        calls = [f"{value.sql}[{key}]", f"element_at({value.sql}, {key})", f"try_element_at({value.sql}, {key})"]
        return Value(self._random.choice(calls), value.type.parts[1])

    def _map_parts(self, value: Value) -> Value:
        keys, values = value.type.parts
        entry = Type("struct", value.type.parts, ("key", "value"))
        return self._random.choice([
            Value(f"map_keys({value.sql})", Type("array", (keys,))),
            Value(f"map_values({value.sql})", Type("array", (values,))),
            Value(f"map_entries({value.sql})", Type("array", (entry,))), Value(f"size({value.sql})", _INT),
            Value(f"map_contains_key({value.sql}, {self._constant(keys)})", _BOOL),
            Value(f"map_from_entries(map_entries({value.sql}))", value.type),
            Value(f"map_from_arrays(map_keys({value.sql}), map_values({value.sql}))", value.type),
        ])  # fmt: skip

    def _map_lambda(self, value: Value) -> Value:
        (keys, values), key, item = value.type.parts, self._name(), self._name()
        names = [(key, keys), (item, values)]
        pick = self._random.randint(0, 3)
        if pick == 0:
            made = self._lambda(names, lambda: self._value(2))
            return Value(
                f"transform_values({value.sql}, ({key}, {item}) -> {made.sql})", Type("map", (keys, made.type))
            )
        if pick == 1:
            condition = self._lambda(names, lambda: Value(self._condition(), _BOOL)).sql
            return Value(f"map_filter({value.sql}, ({key}, {item}) -> {condition})", value.type)
        if pick == 2:
            text = f"concat('k', CAST({key} AS STRING))"
            return Value(f"transform_keys({value.sql}, ({key}, {item}) -> {text})", Type("map", (_TEXT, values)))
        other, second = self._like(value.type).sql, self._name()
        made = self._lambda([*names, (second, values)], lambda: self._value(1))
        return Value(
            f"map_zip_with({value.sql}, {other}, ({key}, {item}, {second}) -> {made.sql})",
            Type("map", (keys, made.type)),
        )

    def _map_concat(self, value: Value) -> Value:
        return Value(f"map_concat({value.sql}, {self._like(value.type).sql})", value.type)


_M = NestedMaker
_ANY: list[Step] = [_M._any, _M._wrapped, _M._described, _M._through_json]
_STEPS: dict[str, list[Step]] = {
    "flat": [_M._flat, _M._flat, _M._flat],
    "struct": [_M._field, _M._field, _M._field, _M._field],
    "array": [_M._element, _M._element, _M._array_to_array, _M._array_to_array, _M._array_to_flat, _M._array_lambda,
              _M._array_lambda, _M._zipped],
    "map": [_M._map_access, _M._map_access, _M._map_parts, _M._map_parts, _M._map_lambda, _M._map_lambda,
            _M._map_concat],
}  # fmt: skip
