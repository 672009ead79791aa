"""Reads a broadcast of chunks that Spark sent to this worker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.core.broadcast import _broadcastRegistry

from pyspark_pipeline.errors import EngineBugError


def read_broadcast(broadcast_id: int) -> Sequence[bytes]:
    """Return the messages of the broadcast, one per chunk; nothing is cached.

    The file is a pickled list. With encryption, Spark has already decrypted and unpickled it, and retains it.
    Raises :class:`EngineBugError` for a broadcast that this task does not have.
    """
    broadcast: Any = _broadcastRegistry.get(broadcast_id)
    if broadcast is None:
        raise EngineBugError(f"broadcast {broadcast_id} has not come to this worker")
    path = getattr(broadcast, "_path", None)
    messages: Sequence[bytes] = broadcast.value if path is None else broadcast.load_from_path(path)
    return messages
