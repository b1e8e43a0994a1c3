"""What the catalog must answer: a copy of everything for each commit, made by replaying the operations in their order.

Nothing of the catalog's code is asked. What is fresh is told from the list of all writes of days.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from .operations import Operation

#: The commit of which nothing can be proven, and that of what was registered empty.
UNKNOWN, REGISTERED = -1, 0

#: What is asked: a kind and its arguments. Answers are as JSON has them.
Question = list[Any]


@dataclass
class Content:
    """A partition. ``as_of`` is the commit up to which it knows the days, ``sourced`` whether it read them."""

    files: tuple[str, ...] = ()
    as_of: int = REGISTERED
    sourced: bool = False


@dataclass
class TableState:
    """A table as one commit left it."""

    name: str
    columns: int = 1
    partitions: dict[str, Content] = field(default_factory=dict)
    properties: dict[str, str] = field(default_factory=dict)


@dataclass
class World:
    """Everything as one commit left it. ``writes`` of days are pairs of a day and a commit."""

    tables: dict[int, TableState] = field(default_factory=dict)
    retired: set[str] = field(default_factory=set)
    ever: set[str] = field(default_factory=set)
    writes: list[tuple[str, int]] = field(default_factory=list)

    def id_of(self, name: str) -> int | None:
        """The table that has a name."""
        return next((id for id, table in self.tables.items() if table.name == name), None)

    def of(self, name: str) -> TableState:
        """The table of the fact that has this name always."""
        return next(table for table in self.tables.values() if table.name == name)

    def is_fresh(self, month: str) -> bool:
        """Whether a rollup says what its days say."""
        as_of = self.of("months").partitions[month].as_of
        return as_of != UNKNOWN and not any(day.startswith(month) and commit > as_of for day, commit in self.writes)


def applied(before: World, operation: Operation, transaction: int, commit: int, seen: World, seen_at: int) -> World:
    """The world after a commit, whose transaction saw ``seen``. ``AssertionError`` where it could not have come so."""
    world = deepcopy(before)
    kind, id = operation.kind, operation.table
    if kind == "refresh":
        return world
    if kind in ("create_table", "rename_table"):
        name = operation.goal or operation.name
        assert world.id_of(name) is None, f"two tables are called {name}"
    if kind == "create_table":
        world.tables[id] = TableState(operation.name)
        return world
    table = world.tables.get(id)
    assert table is not None, f"the table {id} was dropped before"
    if kind == "drop_table":
        del world.tables[id]
    elif kind == "rename_table":
        assert table.name == operation.name, f"the table {id} was called {table.name}"
        table.name = operation.goal
    elif kind == "add_column":
        table.columns += 1
    elif kind == "set_property":
        table.properties[f"p{operation.goal}"] = str(transaction)
    else:
        _partitions(world, table, operation, commit, seen, seen_at)
    return world


def _partitions(world: World, table: TableState, operation: Operation, commit: int, seen: World, seen_at: int) -> None:
    kind, there = operation.kind, table.partitions
    if kind in ("drop", "truncate", "rename_partition"):
        missing = [value for value in operation.values if value not in there]
        assert not missing, f"{missing} of {table.name} was not there"
    if kind == "drop":
        for value in operation.values:
            del there[value]
            if table.name == "days":
                world.retired.add(value)
    elif kind == "truncate":
        for value in operation.values:
            if there[value].files:
                there[value] = Content((), UNKNOWN)
                _news(world, table, value, commit)
    elif kind == "exchange":
        source = world.tables[operation.other].partitions
        for value in operation.values:
            assert value in source, f"{value} was not there"
            assert value not in there, f"{value} was there already"
            there[value] = source.pop(value)
    elif kind == "rename_partition":
        _rename(world, table, operation, commit, seen_at)
    elif kind == "add":
        for value in operation.values:
            assert value not in there, f"{value} of {table.name} was there already"
            known = table.name == "days" and value in world.ever
            there[value] = Content((), seen_at if known else REGISTERED)
            _come(world, table, value, commit if known else None)
    else:
        _write(world, table, operation, commit, seen, seen_at)


def _rename(world: World, table: TableState, operation: Operation, commit: int, seen_at: int) -> None:
    old, new = operation.values[0], operation.goal
    assert new not in table.partitions, f"{new} of {table.name} was there already"
    content = table.partitions.pop(old)
    if table.name == "days":
        nothing = content.as_of == REGISTERED and not content.files and new not in world.ever
        content.as_of = REGISTERED if nothing else seen_at
        world.writes.append((old, commit))
        _come(world, table, new, None if nothing else commit)
    elif content.sourced:
        content.as_of = UNKNOWN
    table.partitions[new] = content


def _write(world: World, table: TableState, operation: Operation, commit: int, seen: World, seen_at: int) -> None:
    there = table.partitions
    if operation.bounds is not None:
        low, high = operation.bounds
        for value in [one for one in there if low <= one < high and one not in operation.values]:
            del there[value]
            _news(world, table, value, commit)
    for value in operation.values:
        files, before = tuple(operation.files[value]), there.get(value, Content())
        appends = operation.kind == "into" and bool(before.files)
        if appends and not files:
            continue
        # What was computed of days of which some were dropped proves nothing.
        gone = operation.sourced and any(day.startswith(value) for day in seen.retired)
        as_of = UNKNOWN if appends or gone else seen_at
        there[value] = Content((before.files if appends else ()) + files, as_of, operation.sourced)
        _come(world, table, value, commit)


def _come(world: World, table: TableState, value: str, commit: int | None) -> None:
    """A partition has come, or has other content; ``commit`` is ``None`` where that is no news to anybody."""
    if table.name == "days":
        world.retired.discard(value)
        world.ever.add(value)
        if commit is not None:
            world.writes.append((value, commit))


def _news(world: World, table: TableState, value: str, commit: int) -> None:
    if table.name == "days":
        world.writes.append((value, commit))


def answer(world: World, question: Question) -> object:
    """What a snapshot of this world must answer, as ``asking.ask`` tells it."""
    kind, *arguments = question
    if kind == "tables":
        return sorted([id, one.name, one.columns, sorted(one.properties.items())] for id, one in world.tables.items())
    if kind == "named":
        return world.id_of(arguments[0])
    if kind == "timeline":
        return _timeline(world, *arguments)
    there = world.tables[arguments[0]].partitions
    if kind == "partition":
        found = there.get(arguments[1])
        return None if found is None else _counts(found)
    if kind == "files":
        return sorted([value, path] for value, content in there.items() for path in content.files)
    beyond = {value: content for value, content in sorted(there.items()) if value >= arguments[1]}
    return list(beyond) if kind == "names" else len(beyond) if kind == "count" else _listed(beyond)


def _counts(content: Content) -> list[int]:
    return [len(content.files), len(content.files), 10 * len(content.files)]


def _listed(partitions: dict[str, Content]) -> list[list[Any]]:
    return [[value, *_counts(content)] for value, content in partitions.items()]


def _timeline(world: World, name: str, state: str) -> list[str]:
    there = world.of(name).partitions
    if state == "retired":
        return sorted(world.retired) if name == "days" else []
    if name == "days":
        return sorted(there) if state == "fresh" else []
    return sorted(month for month in there if world.is_fresh(month) == (state == "fresh"))
