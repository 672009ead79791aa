"""Makes the raw tables of ``examples/clean_orders.py``: orders as a shop exports them, customers and products.

At scale 1 there are a million orders. Orders are texts with dirt: spaces, mixed case, two forms of times, amounts with
signs and separators, NULLs, documents that are no JSON; one in fifty has an older version, and one in a hundred is
there twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.table_files import cache_folder, files, make_once

_ROWS = 1_000_000
_CHUNK = 250_000
_TABLES = ("orders", "customers", "products")
_CATEGORIES = ("books", "garden", "kitchen", "music", "office", "outdoor", "sport", "toys")
_COUNTRIES = ("DE", "FR", "US", "IN", "BR", "JP", "PL", "ES")
_STATUS = ("shipped", " Shipped", "DELIVERED ", "open", "cancelled", "Canceled", "returned", "Return requested", "")
_TAGS = ("gift", "Express", "new ", " promo", "b2b", "fragile", "", "pickup", "EXPRESS", "loyalty")
_FIRST_SECOND = 1_704_067_200  # 2024-01-01
_SECONDS = 366 * 86_400


def make(scale: float, folder: Path | None = None) -> Path:
    """Make the tables of a scale unless they exist, in ``folder`` or the cache; return their folder."""
    total = max(int(_ROWS * scale), 100)
    customers, products = max(total // 6, 10), max(total // 250, 10)

    def generate(target: Path) -> None:
        target.mkdir(parents=True)
        paths = files(target, _TABLES)
        pq.write_table(_customers(customers), paths["customers"])
        pq.write_table(_products(products), paths["products"])
        writer = None
        for first in range(0, total, _CHUNK):
            made = _orders(first, min(_CHUNK, total - first), customers, products)
            writer = writer or pq.ParquetWriter(paths["orders"], made.schema)
            writer.write_table(made)
        if writer is not None:
            writer.close()

    return make_once(folder or cache_folder("etl", scale), _TABLES, generate)


def _orders(first: int, rows: int, customers: int, products: int) -> pa.Table:
    dice = np.random.default_rng(first)
    ids = np.arange(first, first + rows)
    seconds = _FIRST_SECOND + dice.integers(0, _SECONDS, rows)
    amounts = pc.replace_substring_regex(_texts(dice.integers(100, 500_000, rows) / 100), r"^(\d)(\d{3})", r"\1,\2")
    parts = [_choice(dice, _TAGS, rows) for _ in range(3)]
    columns: dict[str, Any] = {
        "order_id": _either(dice, 0.1, _join(" o-", _texts(ids), " "), _join("O-", _texts(ids))),
        "customer": _missing(dice, 0.01, _customer_ids(dice, dice.integers(0, customers, rows))),
        "ordered_at": _either(dice, 0.02, pa.scalar("n/a"), _times(dice, seconds)),
        "status": _choice(dice, _STATUS, rows),
        "total": _missing(dice, 0.01, _either(dice, 0.2, _join("$ ", amounts, " "), amounts)),
        "currency": _choice(dice, ("EUR", "eur", "USD ", "", "GBP"), rows),
        "email": _missing(dice, 0.1, _join(" User", _texts(ids % 9973), "@Mail", _texts(ids % 7), ".Example.com")),
        "tags": _missing(dice, 0.1, pc.binary_join_element_wise(*parts, ";")),
        "attributes": _attributes(dice, rows),
        "lines": _lines(dice, rows, products),
        "updated_at": pa.array((seconds + 86_400) * 1_000_000).cast(pa.timestamp("us", tz="UTC")),
    }
    made = pa.table(columns)
    older = made.take(np.flatnonzero(dice.random(rows) < 0.02))
    older = older.set_column(
        older.schema.get_field_index("updated_at"), "updated_at", pc.subtract(older["updated_at"], _day())
    ).set_column(older.schema.get_field_index("status"), "status", pa.array(["open"] * older.num_rows))
    twice = made.take(np.flatnonzero(dice.random(rows) < 0.01))
    return pa.concat_tables([older, made, twice])


def _customers(count: int) -> pa.Table:
    dice = np.random.default_rng(1)
    numbers = np.arange(count)
    made = pa.table(
        {
            "customer_id": _join("C", _texts(numbers)),
            "name": _join("Customer ", _texts(numbers * 7919 % count), " of ", _choice(dice, ("Alpha", "Beta"), count)),
            "segment": _missing(dice, 0.05, _choice(dice, ("consumer", "Business", "public "), count)),
            "country": _choice(dice, _COUNTRIES, count),
            "since": pa.array(dice.integers(16_000, 19_700, count).astype(np.int32)).cast(pa.date32()),
        }
    )
    return pa.concat_tables([made, made.take(np.flatnonzero(dice.random(count) < 0.02))])


def _products(count: int) -> pa.Table:
    dice = np.random.default_rng(2)
    return pa.table(
        {
            "sku": _join("SKU-", _texts(np.arange(count))),
            "title": _join("Product ", _texts(dice.integers(0, 99_999, count))),
            "category": _choice(dice, _CATEGORIES, count),
            "cost": pa.array(dice.integers(50, 9_000, count) / 100).cast(pa.decimal128(10, 2)),
        }
    )


def _lines(dice: np.random.Generator, rows: int, products: int) -> pa.Array:
    """Return arrays of none to four lines, some of them NULL; a few lines have a quantity that is no number."""
    counts = dice.integers(0, 5, rows)
    offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
    total = int(offsets[-1])
    quantities = _either(dice, 0.01, pa.scalar("?"), _texts(dice.integers(1, 9, total)))
    prices = pa.array(dice.integers(100, 20_000, total) / 100).cast(pa.decimal128(10, 2))
    skus = _join("SKU-", _texts(dice.integers(0, products, total)))
    skus = _either(dice, 0.1, pc.utf8_lower(skus), skus)
    discounts = _missing(dice, 0.5, pa.array(dice.integers(0, 30, total) / 100))
    lines = pa.StructArray.from_arrays([skus, quantities, prices, discounts], ["sku", "quantity", "price", "discount"])
    return pa.ListArray.from_arrays(pa.array(offsets), lines, mask=pa.array(dice.random(rows) < 0.01))


def _attributes(dice: np.random.Generator, rows: int) -> pa.Array:
    channels = _choice(dice, ("web", "app", "store", "phone"), rows)
    systems = _choice(dice, ("ios", "android", "linux", "windows"), rows)
    scores = _texts(dice.integers(0, 1000, rows) / 1000)
    parts = ['{"channel":"', channels, '","device":{"os":"', systems, '"},"score":', scores, ',"visits":[1,2]}']
    return _missing(dice, 0.05, _either(dice, 0.01, pa.scalar('{"channel":'), _join(*parts)))


def _customer_ids(dice: np.random.Generator, numbers: np.ndarray) -> pa.Array:
    return _either(dice, 0.1, _join("c", _texts(numbers), " "), _join("C", _texts(numbers)))


def _times(dice: np.random.Generator, seconds: np.ndarray) -> pa.Array:
    moments = pa.array(seconds).cast(pa.timestamp("s"))
    return _either(
        dice, 0.1, pc.strftime(moments, "%d/%m/%Y %H:%M"), pc.strftime(moments, "%Y-%m-%d %H:%M:%S")
    )


def _day() -> pa.Scalar:
    return pa.scalar(86_400_000_000, pa.duration("us"))


def _texts(values: np.ndarray) -> pa.Array:
    return pa.array(values).cast(pa.string())


def _join(*parts: Any) -> pa.Array:
    return pc.binary_join_element_wise(*parts, "")


def _choice(dice: np.random.Generator, values: Sequence[str], rows: int) -> pa.Array:
    return pa.array(values).take(pa.array(dice.integers(0, len(values), rows)))


def _either(dice: np.random.Generator, share: float, one: Any, other: pa.Array) -> pa.Array:
    """Return ``one`` in a random ``share`` of the rows, ``other`` elsewhere."""
    return pc.if_else(pa.array(dice.random(len(other)) < share), one, other)


def _missing(dice: np.random.Generator, share: float, values: pa.Array) -> pa.Array:
    """Return ``values`` with NULL in a random ``share`` of the rows."""
    return pc.if_else(pa.array(dice.random(len(values)) < share), pa.scalar(None, values.type), values)
