"""Names of Java's packages and classes in py4j: each is looked up once.

PySpark spells some ten names for each error that it converts, and the JVM searches all jars for each part of a name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from py4j.java_gateway import JavaClass, JavaPackage, JVMView

_LookUp = Callable[[Any, str], Any]


def remember() -> None:
    """Make py4j remember the names that it has found."""
    for owner in (JVMView, JavaPackage):
        owner.__getattr__ = _remembering(owner.__getattr__)


def _remembering(look_up: _LookUp) -> _LookUp:
    def find(self: Any, name: str) -> Any:
        found = look_up(self, name)
        if isinstance(found, (JavaPackage, JavaClass)):
            self.__dict__[name] = found
        return found

    return find
