"""Names of the processor that kernels are compiled for, and of the portable ones whose code this machine runs.

A *target* is a processor in LLVM's sense: that of this machine (its name here is a hash of the description that
Linux reports), or a portable one by LLVM's own name, such as ``x86-64-v3``, which is any x86 processor since 2013.
Numba compiles for this machine unless ``NUMBA_CPU_NAME`` and ``NUMBA_CPU_FEATURES`` name another target. Imports no
compiler.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
from functools import lru_cache
from pathlib import Path

NAME, FEATURES = "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES"

# Linux's names of the features that each level of the x86-64 psABI adds to the one below.
_V2 = {"cx16", "lahf_lm", "popcnt", "pni", "sse4_1", "sse4_2", "ssse3"}
_V3 = _V2 | {"abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "xsave"}
_LEVELS = (("x86-64-v3", _V3), ("x86-64-v2", _V2), ("x86-64", set[str]()))

_PROPERTIES = (
    "vendor_id", "cpu family", "model", "model name", "flags",
    "CPU implementer", "CPU architecture", "CPU variant", "CPU part", "Features",
)  # fmt: skip


def target() -> str:
    """Return the name of the target that numba compiles for in this process."""
    name, features = os.environ.get(NAME), os.environ.get(FEATURES)
    if name and (features == "" or name == "generic") and re.fullmatch(r"[\w.-]+", name):
        return name
    description = repr((name, features, platform.machine(), sorted(_processor_properties().items())))
    return f"this-{hashlib.sha256(description.encode()).hexdigest()[:16]}"


def portable_targets() -> tuple[str, ...]:
    """Return the names of the portable targets that this machine runs, best first; none if the user named a target."""
    return () if os.environ.get(NAME) or os.environ.get(FEATURES) else _portable()


def _portable() -> tuple[str, ...]:
    if platform.machine() not in ("x86_64", "AMD64"):
        return ("generic",)
    flags = set(_processor_properties().get("flags", "").split())
    return tuple(name for name, needed in _LEVELS if needed <= flags)


def portable_target() -> str:
    """Return the name of the target to compile for if other machines are to run the code."""
    return next(iter(_portable()), "generic")


@lru_cache(maxsize=1)
def _processor_properties() -> dict[str, str]:
    """Return the properties of this machine's first processor that are the same on all machines of its model."""
    try:
        first = Path("/proc/cpuinfo").read_text(encoding="utf-8").split("\n\n")[0]
    except OSError:
        return {"model name": platform.processor()}
    pairs = (line.partition(":") for line in first.splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs if key.strip() in _PROPERTIES}
