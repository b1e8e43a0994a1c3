"""The expected results of sessions: the rows of every partition after each commit, in plain Python.

Nothing of the product's code is asked. A commit is a list of changes, told by what a statement saw, and applied to
what is there when it commits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

Row = tuple[object, ...]
Rows = tuple[Row, ...]

#: The tables of the fact, which are always there, and what their partitions may be called.
MONTHS, QUARTERS = "months", "quarters"
MONTHS_OF = {
    f"2024-{quarter}": tuple(f"2024-{3 * quarter - 2 + number:02}" for number in range(3)) for quarter in (1, 2)
}
ALL_MONTHS = tuple(month for months in MONTHS_OF.values() for month in months)


@dataclass(frozen=True)
class Table:
    """A table as one commit left it: rows by partition. The key of the one part of an unpartitioned table is ''."""

    columns: tuple[str, ...]
    key: str
    parts: Mapping[str, Rows] = field(default_factory=dict)

    def rows(self, part: str) -> Rows:
        """The rows of a partition under all columns of today, without the partition column."""
        width = len(self.columns)
        return tuple((*row, *(None,) * (width - len(row))) for row in self.parts.get(part, ()))

    def all_rows(self) -> Rows:
        """In the form of ``SELECT *``."""
        return tuple((*row, *((part,) if self.key else ())) for part in self.parts for row in self.rows(part))


@dataclass(frozen=True)
class Change:
    """One change of a commit.

    ``put`` replaces a partition, ``into`` adds to it, ``drop`` is retention, ``wipe`` says that nothing was there.
    ``files`` (of a partition) and ``look`` (among all of them) leave the rows as they are. ``create``, ``end``,
    ``name`` and ``columns`` are about the table.
    """

    kind: str
    table: object
    part: str = ""
    rows: Rows = ()
    made: Table | None = None
    name: str = ""

    @property
    def is_of_table(self) -> bool:
        return self.kind in ("create", "end", "name", "columns")


@dataclass(frozen=True)
class State:
    """Everything as one commit left it. ``truth`` are the rows of each month, also where retention dropped them."""

    number: int = 0
    names: Mapping[str, object] = field(default_factory=dict)
    tables: Mapping[object, Table] = field(default_factory=dict)
    truth: Mapping[str, Rows] = field(default_factory=dict)

    def find(self, name: str) -> Table | None:
        """The table of this name."""
        return self.tables[self.names[name]] if name in self.names else None

    def after(self, changes: Sequence[Change]) -> State:
        """The next state. ``AssertionError`` for what cannot have happened."""
        names, tables, truth = dict(self.names), dict(self.tables), dict(self.truth)
        for one in changes:
            if one.kind == "create":
                assert one.name not in names, f"two tables are called {one.name}"
                assert one.made is not None
                names[one.name], tables[one.table] = one.table, one.made
                continue
            if one.kind in _ROWS_STAY:
                continue
            assert one.table in tables, f"{one} is of a table that was dropped before"
            table = tables[one.table]
            if one.kind == "end":
                names = {name: id for name, id in names.items() if id != one.table}
                del tables[one.table]
            elif one.kind == "name":
                names = {name: id for name, id in names.items() if id != one.table}
                assert one.name not in names, f"two tables are called {one.name}"
                names[one.name] = one.table
            elif one.kind == "columns":
                tables[one.table] = replace(table, columns=(*table.columns, one.name))
            else:
                parts = _changed(table.parts, one)
                tables[one.table] = replace(table, parts=parts)
                if one.table == MONTHS and one.kind != "drop":
                    truth[one.part] = parts.get(one.part, ())
        return State(self.number + 1, names, tables, truth)


_ROWS_STAY = ("files", "look")


def _changed(parts: Mapping[str, Rows], one: Change) -> dict[str, Rows]:
    if one.kind in ("drop", "wipe"):
        assert one.part in parts, f"{one} is of a partition that is not there"
        return {part: rows for part, rows in parts.items() if part != one.part}
    before = parts.get(one.part, ()) if one.kind == "into" else ()
    return {**parts, one.part: (*before, *one.rows)}


def meets(mine: Change, other: Change) -> bool:
    """Whether both cannot commit where neither has seen the other: the first would be lost, the second impossible."""
    if mine.kind in _ROWS_STAY or other.kind in _ROWS_STAY:
        return False
    if mine.table != other.table:
        return False
    if mine.is_of_table or other.is_of_table:
        return other.kind == "end"
    return mine.part == other.part and not mine.kind == other.kind == "into"


def may_meet(mine: Change, other: Change) -> bool:
    """Whether a refusal of the second is to be expected: claims may be wider than what was changed.

    INSERTs conflict only in the partitions that they write. A change that keeps the rows conflicts with nothing.
    """
    if mine.kind in ("create", "name") or other.kind in ("create", "name"):
        return mine.name == other.name or mine.table == other.table
    if mine.table != other.table or other.kind == "files":
        return False
    if mine.kind in ("put", "into") and other.kind in ("put", "into") and mine.name == other.name == "insert":
        return meets(mine, other)
    return True


def summed(rows: Iterable[Row]) -> Rows:
    """Rows of (k, n, v), one for each k."""
    found = []
    for k, group in groupby(sorted(rows, key=repr), key=lambda row: row[0]):
        mine = list(group)
        found.append((k, sum(int(str(row[1])) for row in mine), sum(int(str(row[2])) for row in mine)))
    return tuple(found)
