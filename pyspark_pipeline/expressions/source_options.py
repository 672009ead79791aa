"""The options of functions that read or write JSON and CSV: lines ``name=value``, as the shim writes them.

Names have no case; the last of several lines with a name counts.
"""

from __future__ import annotations

#: No name occurs twice.
UNIQUE_NAMES = r"(?!(?:[^\n]*\n)*(?i:(\w+)=[^\n]*\n(?:[^\n]*\n)*\1=))"


def options_of(text: str) -> dict[str, str]:
    """Return the values of options by their names in lower case."""
    pairs = (line.split("=", 1) for line in text.split("\n")[:-1])
    return {name.lower(): value for name, value in pairs}
