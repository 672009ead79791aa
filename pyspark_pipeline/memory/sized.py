"""The protocol of objects with a known size in bytes."""

from __future__ import annotations

from typing import Protocol, TypeVar


class Sized(Protocol):
    """An Arrow or numpy container, or a structure of them."""

    @property
    def nbytes(self) -> int:
        """Bytes held in memory."""


SizedValue = TypeVar("SizedValue", bound=Sized)
