"""The types of numpy arrays, by the type of their items; docstrings state the shapes."""

from __future__ import annotations

from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

Item = TypeVar("Item", bound=np.generic)

Array: TypeAlias = npt.NDArray[Any]
"""For functions that accept several types of items."""

ArrayOf: TypeAlias = npt.NDArray[Item]
"""For functions and classes that keep the type of the items."""

BoolArray: TypeAlias = npt.NDArray[np.bool_]
Int8Array: TypeAlias = npt.NDArray[np.int8]
Int16Array: TypeAlias = npt.NDArray[np.int16]
Int32Array: TypeAlias = npt.NDArray[np.int32]
Int64Array: TypeAlias = npt.NDArray[np.int64]
UInt8Array: TypeAlias = npt.NDArray[np.uint8]
UInt16Array: TypeAlias = npt.NDArray[np.uint16]
UInt32Array: TypeAlias = npt.NDArray[np.uint32]
UInt64Array: TypeAlias = npt.NDArray[np.uint64]
Float64Array: TypeAlias = npt.NDArray[np.float64]

Bitmap: TypeAlias = tuple[UInt8Array, int]
"""The bytes of a bitmap, none if all bits are set, and the number of bits to skip."""
