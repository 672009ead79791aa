"""What can say how many bytes it holds."""

from __future__ import annotations

from typing import Protocol, TypeVar


class Sized(Protocol):
    """Arrow's and numpy's containers, and what is made of them to be kept."""

    @property
    def nbytes(self) -> int:
        """Bytes held in memory."""


SizedValue = TypeVar("SizedValue", bound=Sized)
