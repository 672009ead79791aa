"""Reads a broadcast of chunks that Spark sent to this worker."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pyspark.core.broadcast import _broadcastRegistry

from pyspark_pipeline.errors import EngineBugError
from pyspark_pipeline.exchange.broadcast import Message

_ALIGNMENT = 64


def read_broadcast(broadcast_id: int) -> Sequence[Message]:
    """Return the messages of the broadcast, one per chunk; nothing is cached.

    The file is a pickled list: of messages, or of JSON texts that name files of messages on this machine, which are
    mapped. With encryption, Spark has already decrypted and unpickled it, and retains it.
    Raises :class:`EngineBugError` for a broadcast that this task does not have.
    """
    broadcast: Any = _broadcastRegistry.get(broadcast_id)
    if broadcast is None:
        raise EngineBugError(f"broadcast {broadcast_id} has not come to this worker")
    path = getattr(broadcast, "_path", None)
    found: Sequence[bytes | str] = broadcast.value if path is None else broadcast.load_from_path(path)
    messages: list[Message] = []
    for entry in found:
        messages += _mapped(**json.loads(entry)) if isinstance(entry, str) else [entry]
    return messages


def _mapped(path: str, lengths: Sequence[int]) -> list[pa.Buffer]:
    """Return the messages of a file, each at a multiple of 64 bytes."""
    if not lengths:
        return []
    with pa.memory_map(path) as file:
        whole = file.read_buffer()
    messages, at = [], 0
    for length in lengths:
        messages.append(whole.slice(at, length))
        at += -(-length // _ALIGNMENT) * _ALIGNMENT
    return messages
