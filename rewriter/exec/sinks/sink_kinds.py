"""The kinds of sinks of a write, and the one that a write has."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class SinkKind(StrEnum):
    """The sinks, with their names in EXPLAIN and in the setting ``rewriter.sink``."""

    SINGLE = "single-partition"
    GROUPED = "grouped"
    UNGROUPED = "ungrouped"
    SORTED = "sorted"


#: The values of ``rewriter.sink``.
SINK_SETTINGS = ("auto", SinkKind.GROUPED.value, SinkKind.UNGROUPED.value, SinkKind.SORTED.value)


@dataclass(frozen=True)
class SinkChoice:
    """A sink, the reason for it, and its settings. At most ``most_tasks`` tasks of Spark run the query."""

    kind: SinkKind = SinkKind.GROUPED
    reason: str = ""
    target_file_bytes: int | None = None
    max_open_writers: int = 64
    most_tasks: int | None = None

    @property
    def is_grouped(self) -> bool:
        """Returns whether the engine has to sort the rows by partition first."""
        return self.kind is SinkKind.GROUPED


#: The sink of writes whose rows are always sorted.
GROUPED_SINK = SinkChoice()
