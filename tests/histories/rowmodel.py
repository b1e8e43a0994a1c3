"""The expected results of sessions: the rows of every partition after each commit, in plain Python.

The model uses no code of the product. A commit is a list of changes. A statement determines them from the state that it
saw, and they are applied to the state at its commit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

Row = tuple[object, ...]
Rows = tuple[Row, ...]

#: The tables of the fact, which always exist, and the names that their partitions may have.
MONTHS, QUARTERS = "months", "quarters"
MONTHS_OF = {
    f"2024-{quarter}": tuple(f"2024-{3 * quarter - 2 + number:02}" for number in range(3)) for quarter in (1, 2)
}
ALL_MONTHS = tuple(month for months in MONTHS_OF.values() for month in months)


@dataclass(frozen=True)
class Table:
    """A table after one commit: rows by partition. The key of the single part of an unpartitioned table is ''."""

    columns: tuple[str, ...]
    key: str
    parts: Mapping[str, Rows] = field(default_factory=dict)

    def rows(self, part: str) -> Rows:
        """Returns the rows of a partition with all present columns, without the partition column."""
        width = len(self.columns)
        return tuple((*row, *(None,) * (width - len(row))) for row in self.parts.get(part, ()))

    def all_rows(self) -> Rows:
        """Returns all rows in the form of ``SELECT *``."""
        return tuple((*row, *((part,) if self.key else ())) for part in self.parts for row in self.rows(part))


@dataclass(frozen=True)
class Change:
    """One change of a commit.

    ``put`` replaces a partition, ``into`` adds to it, ``drop`` is retention, and ``wipe`` removes it without a trace.
    ``files`` (of a partition) and ``look`` (among all of them) leave the rows as they are. ``create``, ``end``,
    ``name`` and ``columns`` change the table.
    """

    kind: str
    table: object
    part: str = ""
    rows: Rows = ()
    created: Table | None = None
    name: str = ""

    @property
    def is_of_table(self) -> bool:
        return self.kind in ("create", "end", "name", "columns")


@dataclass(frozen=True)
class State:
    """All tables after one commit. ``truth`` has the rows of each month, including those that retention dropped."""

    number: int = 0
    names: Mapping[str, object] = field(default_factory=dict)
    tables: Mapping[object, Table] = field(default_factory=dict)
    truth: Mapping[str, Rows] = field(default_factory=dict)

    def find(self, name: str) -> Table | None:
        """Returns the table of this name."""
        return self.tables[self.names[name]] if name in self.names else None

    def after(self, changes: Sequence[Change]) -> State:
        """Returns the next state. Raises ``AssertionError`` if a change is impossible."""
        names, tables, truth = dict(self.names), dict(self.tables), dict(self.truth)
        for change in changes:
            if change.kind == "create":
                assert change.name not in names, f"two tables are called {change.name}"
                assert change.created is not None
                names[change.name], tables[change.table] = change.table, change.created
                continue
            if change.kind in _ROWS_STAY:
                continue
            assert change.table in tables, f"{change} is of a table that was dropped before"
            table = tables[change.table]
            if change.kind == "end":
                names = {name: id for name, id in names.items() if id != change.table}
                del tables[change.table]
            elif change.kind == "name":
                names = {name: id for name, id in names.items() if id != change.table}
                assert change.name not in names, f"two tables are called {change.name}"
                names[change.name] = change.table
            elif change.kind == "columns":
                tables[change.table] = replace(table, columns=(*table.columns, change.name))
            else:
                parts = _changed(table.parts, change)
                tables[change.table] = replace(table, parts=parts)
                if change.table == MONTHS and change.kind != "drop":
                    truth[change.part] = parts.get(change.part, ())
        return State(self.number + 1, names, tables, truth)


_ROWS_STAY = ("files", "look")


def _changed(parts: Mapping[str, Rows], change: Change) -> dict[str, Rows]:
    if change.kind in ("drop", "wipe"):
        assert change.part in parts, f"{change} is of a partition that is not there"
        return {part: rows for part, rows in parts.items() if part != change.part}
    before = parts.get(change.part, ()) if change.kind == "into" else ()
    return {**parts, change.part: (*before, *change.rows)}


def meets(mine: Change, other: Change) -> bool:
    """Returns True if both cannot commit when neither has seen the other: the first would be lost, or the second
    impossible.
    """
    if mine.kind in _ROWS_STAY or other.kind in _ROWS_STAY:
        return False
    if mine.table != other.table:
        return False
    if mine.is_of_table or other.is_of_table:
        return other.kind == "end"
    return mine.part == other.part and not mine.kind == other.kind == "into"


def may_meet(mine: Change, other: Change) -> bool:
    """Returns True if a refusal of the second is allowed: claims may be wider than the changes.

    INSERTs conflict only in the partitions that they write. A change that keeps the rows conflicts with nothing.
    """
    if mine.kind in ("create", "name") or other.kind in ("create", "name"):
        return mine.name == other.name or mine.table == other.table
    if mine.kind == other.kind == "files":
        return mine.table == other.table  # Each of two COMPACTs replaces files that the other has read.
    if mine.table != other.table or other.kind == "files":
        return False
    if mine.kind in ("put", "into") and other.kind in ("put", "into") and mine.name == other.name == "insert":
        return meets(mine, other)
    return True


def summed(rows: Iterable[Row]) -> Rows:
    """Sums rows of (k, n, v), one for each k."""
    groups = []
    for k, group in groupby(sorted(rows, key=repr), key=lambda row: row[0]):
        mine = list(group)
        groups.append((k, sum(int(str(row[1])) for row in mine), sum(int(str(row[2])) for row in mine)))
    return tuple(groups)
