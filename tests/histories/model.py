"""The expected results of the catalog: a full copy for each commit, computed by replaying the operations in order.

The model of a fact (``fact_model``) is extended by tables with names, ids, columns and properties, and by what each
transaction saw.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from fact_model import ADDED, ALL, FRESH, REGISTERED, UNKNOWN, UNPROVEN, Base, Content, Key, Partitions, Shape

from .operations import ALL_DAYS, FIRST_DAYS, Operation

#: A read: a kind and its arguments. Results are JSON values.
Question = list[Any]


@dataclass
class TableState:
    """A table after one commit."""

    name: str
    columns: int = 1
    partitions: Partitions = field(default_factory=Partitions)
    properties: dict[str, str] = field(default_factory=dict)

    def by_value(self) -> dict[str, Content]:
        """The existing partitions in order."""
        return {str(value): content for (value, _), content in sorted(self.partitions.live.items())}


@dataclass
class World:
    """All tables after one commit."""

    tables: dict[int, TableState] = field(default_factory=dict)

    def id_of(self, name: str) -> int | None:
        """Returns the id of the table with this name."""
        return next((id for id, table in self.tables.items() if table.name == name), None)

    def of(self, name: str) -> TableState:
        """Returns the table of the fact with this name. It always exists."""
        return next(table for table in self.tables.values() if table.name == name)

    @property
    def days(self) -> Base:
        days = self.of("days").partitions
        assert isinstance(days, Base)
        return days

    def state(self, month: str) -> str:
        """Returns the state of an existing month."""
        return MONTH.state(self.days, self.of("months").partitions, month)


def first_days() -> Base:
    """Returns the days that exist from the beginning. They are registered empty."""
    days = Base()
    for day in FIRST_DAYS:
        days.add(named(day), 0)
    return days


def named(value: str) -> Key:
    """Returns the partition of a value."""
    return value, ALL


@cache
def days_of(month: str) -> tuple[str, ...]:
    """Returns all days of a month."""
    return tuple(day for day in ALL_DAYS if day.startswith(month))


MONTH = Shape(days_of)


def applied(before: World, operation: Operation, transaction: int, commit: int, seen: World, seen_at: int) -> World:
    """Returns the world after a commit whose transaction saw ``seen``. Raises ``AssertionError`` if the commit cannot
    follow.
    """
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
    kind, partitions = operation.kind, table.partitions
    keys = [named(value) for value in operation.values]
    if kind in ("drop", "truncate", "rename_partition"):
        missing = [key for key in keys if key not in partitions.live]
        assert not missing, f"{missing} of {table.name} was not there"
    if kind == "drop":
        for key in keys:
            partitions.drop(key)
    elif kind == "truncate":
        for key in keys:
            if partitions.live[key].files:
                _put(partitions, key, Content((), UNKNOWN), commit)
    elif kind == "exchange":
        source = world.tables[operation.source].partitions
        for key in keys:
            assert key in source.live, f"{key} was not there"
            assert key not in partitions.live, f"{key} was there already"
            partitions.put(key, source.live.pop(key))
    elif kind == "rename_partition":
        _rename(table, operation, commit, seen_at)
    elif kind == "add":
        for key in keys:
            assert key not in partitions.live, f"{key} of {table.name} was there already"
            if isinstance(partitions, Base):
                partitions.add(key, commit)
            else:
                partitions.put(key, ADDED if table.name == "months" else Content())
    else:
        _write(table, operation, commit, seen, seen_at)


def _put(partitions: Partitions, key: Key, content: Content, commit: int) -> None:
    if isinstance(partitions, Base):
        partitions.write(key, content, commit)
    else:
        partitions.put(key, content)


def _wipe(partitions: Partitions, key: Key, commit: int) -> None:
    if isinstance(partitions, Base):
        partitions.wipe(key, commit)
    else:
        partitions.remove(key)


def _rename(table: TableState, operation: Operation, commit: int, seen_at: int) -> None:
    old, new, partitions = named(operation.values[0]), named(operation.goal), table.partitions
    assert new not in partitions.live, f"{new} of {table.name} was there already"
    content = partitions.live[old]
    _wipe(partitions, old, commit)
    if not isinstance(partitions, Base):
        partitions.put(new, replace(content, as_of=UNKNOWN, doubt=UNPROVEN))
    elif content.as_of == REGISTERED and not content.files and new not in partitions.ever:
        partitions.add(new, commit)
    else:
        partitions.write(new, replace(content, as_of=seen_at), commit)


def _write(table: TableState, operation: Operation, commit: int, seen: World, seen_at: int) -> None:
    partitions = table.partitions
    if operation.bounds is not None:
        low, high = operation.bounds
        for value in [value for value in table.by_value() if low <= value < high and value not in operation.values]:
            _wipe(partitions, named(value), commit)
    for value in operation.values:
        files, before = tuple(operation.files[value]), partitions.live.get(named(value), Content())
        if operation.kind == "into" and before.files:
            if not files:
                continue
            content = before.appended(files)
        elif table.name != "months":
            content = Content(files, seen_at)
        elif operation.sourced:
            content = MONTH.computed(seen.days, value, seen_at, files)
        else:
            content = Content(files, UNKNOWN, UNPROVEN)
        _put(partitions, named(value), content, commit)


def answer(world: World, question: Question) -> object:
    """Returns the expected result of a snapshot, in the form of ``asking.ask``."""
    kind, *arguments = question
    if kind == "tables":
        return sorted(
            [id, table.name, table.columns, sorted(table.properties.items())] for id, table in world.tables.items()
        )
    if kind == "named":
        return world.id_of(arguments[0])
    if kind == "timeline":
        return _timeline(world, *arguments)
    there = world.tables[arguments[0]].by_value()
    if kind == "partition":
        partition = there.get(arguments[1])
        return None if partition is None else _counts(partition)
    if kind == "files":
        return sorted([value, path] for value, content in there.items() for path in content.files)
    beyond = {value: content for value, content in there.items() if value >= arguments[1]}
    return list(beyond) if kind == "names" else len(beyond) if kind == "count" else _listed(beyond)


def _counts(content: Content) -> list[int]:
    return [len(content.files), len(content.files), 10 * len(content.files)]


def _listed(partitions: dict[str, Content]) -> list[list[Any]]:
    return [[value, *_counts(content)] for value, content in partitions.items()]


def _timeline(world: World, name: str, state: str) -> list[str]:
    if name == "months":
        return [month for month in world.of(name).by_value() if world.state(month) == state]
    if state == "retired":
        return sorted(str(day) for day, _ in world.days.dropped)
    return list(world.of(name).by_value()) if state == FRESH else []
