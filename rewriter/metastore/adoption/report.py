"""What an import did, and what it did not take, with the reason."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import field

from rewriter.lazy_dataclass import dataclass
from rewriter.terminal_text import cut

#: The columns of the report.
COLUMNS = ("object", "not taken", "count", "example", "reason")
#: The different reasons for one kind of thing of one object, and the longest text of one.
_MOST_REASONS, _MOST_CHARACTERS = 20, 400
Row = tuple[str, str, int, str | None, str]


@dataclass
class Counts:
    """Objects that an import created, changed and dropped. Objects that were equal count nowhere."""

    created: int = 0
    changed: int = 0
    dropped: int = 0

    def add(self, other: Counts) -> None:
        """Adds the numbers of another one."""
        self.created += other.created
        self.changed += other.changed
        self.dropped += other.dropped

    def __bool__(self) -> bool:
        return bool(self.created or self.changed or self.dropped)

    def __str__(self) -> str:
        return f"{self.created:,} created, {self.changed:,} changed, {self.dropped:,} dropped"


@dataclass
class _Found:
    count: int
    example: str | None


@dataclass
class Report:
    """The result of an import: numbers, and what was not taken.

    Things of one kind with one reason are one row. ``notice`` gets a line for each table in which something changed.
    """

    notice: Callable[[str], object] = lambda _: None
    databases: Counts = field(default_factory=Counts)
    tables: Counts = field(default_factory=Counts)
    partitions: Counts = field(default_factory=Counts)
    functions: Counts = field(default_factory=Counts)
    _found: dict[tuple[str, str, str], _Found] = field(default_factory=dict)
    _reasons: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def not_taken(self, object: str, what: str, reason: str, count: int = 1, example: str | None = None) -> None:
        """Notes that something of an object was not taken: the whole ``table``, or some ``partitions`` of it.

        After ``_MOST_REASONS`` of one kind, others are one row.
        """
        text = cut(" ".join(reason.split()), _MOST_CHARACTERS)
        with self._lock:
            reasons = self._reasons.setdefault((object, what), set())
            if text not in reasons and len(reasons) >= _MOST_REASONS:
                text = "Further reasons of these kinds."
            reasons.add(text)
            shown = None if example is None else cut(example, _MOST_CHARACTERS)
            self._found.setdefault((object, what, text), _Found(0, shown)).count += count

    @property
    def is_complete(self) -> bool:
        """Returns whether everything was taken."""
        return not self._found

    def rows(self) -> Iterator[Row]:
        """Yields what was not taken, by object."""
        for (object, what, reason), found in sorted(self._found.items(), key=lambda item: item[0]):
            yield object, what, found.count, found.example, reason

    @property
    def summary(self) -> str:
        """One line about what changed."""
        groups = (
            ("databases", self.databases),
            ("tables and views", self.tables),
            ("partitions", self.partitions),
            ("functions", self.functions),
        )
        texts = [f"{name}: {counts}" for name, counts in groups if counts]
        return "; ".join(texts) or "nothing has changed"
