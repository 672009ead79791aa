"""Records of vanilla Spark's answers to gold statements, so that a run of the gold files need not ask Spark again.

A record is a digest of rows, or an error. It stands for Spark only if the engine's answer has the same record: every
other answer is compared with the one that Spark gives live. So a record that is missing or out of date costs time and
hides nothing, unless the engine returned exactly the answer that Spark gave before a table changed.

Records lie beside the gold files, in ``answers/<Spark version>/<folder>/<file>.txt``, one line a statement and
combination: digest of the question, a space, record. ``make answers`` writes them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.support.compare import Rule, fingerprint
from tests.support.goldfile import GoldFile
from tests.support.judge import condition_text
from tests.support.sessions import Outcome

_DIGITS = 20


@dataclass(slots=True, kw_only=True)
class Answers:
    """The records of one Spark version and Java release below ``folder``."""

    folder: Path
    java: str
    _files: dict[Path, dict[str, str]] = field(default_factory=dict)
    _new: dict[Path, dict[str, str]] = field(default_factory=dict)

    def has(self, gold: GoldFile, question: str, record: str) -> bool:
        """Return whether Spark's recorded answer to ``question`` of ``gold`` is ``record``."""
        path = self._path(gold)
        if path not in self._files:
            lines = path.read_text(encoding="ascii").splitlines() if path.exists() else []
            self._files[path] = dict(line.split(" ", 1) for line in lines)
        return self._files[path].get(question) == record

    def add(self, gold: GoldFile, question: str, record: str) -> None:
        """Keep ``record`` as Spark's answer to ``question`` of ``gold`` for :meth:`write`."""
        self._new.setdefault(self._path(gold), {})[question] = record

    def write(self) -> None:
        """Write the files of all gold files that have new records, without their old ones."""
        for path, records in self._new.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(f"{key} {records[key]}\n" for key in sorted(records)), encoding="ascii")

    def question(self, sql: str, settings: Mapping[str, str], rule: Rule) -> str:
        """Return the digest of a statement under settings, whose answer is compared by ``rule``."""
        return _digest([sql, repr(sorted(settings.items())), repr(rule), self.java])

    def _path(self, gold: GoldFile) -> Path:
        return self.folder / gold.path.parent.name / f"{gold.path.stem}.txt"


def record_of(outcome: Outcome, rule: Rule) -> str:
    """Return the record of an outcome: equal records are answers that ``rule`` finds equal (floats exactly)."""
    if outcome.error is not None:
        message = _digest([str(condition_text(outcome))]) if rule.exact_errors else "-"
        return f"error {outcome.error[0]} {outcome.error[1]} {message}"
    exact = replace(rule, relative=0.0)
    rows = [_canonical(fingerprint(row, exact)) for row in outcome.rows or ()]
    return f"rows {len(rows)} {_digest(rows if rule.ordered else sorted(rows))}"


def _canonical(value: Hashable) -> str:
    """Return a text of a fingerprint that does not depend on the order of its sets."""
    if isinstance(value, tuple):
        return f"({','.join(map(_canonical, value))})"
    if isinstance(value, frozenset):
        return f"{{{','.join(sorted(map(_canonical, value)))}}}"
    return repr(value)


def _digest(texts: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for text in texts:
        digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()[:_DIGITS]
