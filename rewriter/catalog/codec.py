"""Databases, tables, views, cubes and facts as JSON text, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from rewriter.catalog.models import (
    Aggregate,
    Column,
    Completeness,
    Cube,
    Fact,
    Measure,
    Namespace,
    OtherTime,
    Storage,
    StorageTable,
    Table,
    View,
)
from rewriter.catalog.names import DEFAULT_DATABASE, database_key
from rewriter.timeline.calendars import Calendar, Period, calendar_of
from rewriter.timeline.layouts import TimeLayout

Object = Table | View | Cube | Fact | Namespace

_KINDS: Mapping[type, str] = {
    Table: "table",
    View: "view",
    Cube: "cube",
    Fact: "fact",
    Namespace: "database",
}


def kind_of(thing: Object) -> str:
    """``table``, ``view``, ``cube``, ``fact`` or ``database``."""
    return _KINDS[type(thing)]


def key_of(thing: Object) -> str:
    """What an object is looked up by. A database has the name of no object, and may be called as a table is."""
    return database_key(thing.name) if isinstance(thing, Namespace) else thing.name.lower()


def to_text(thing: Object) -> str:
    """The definition without id and name, which have columns of their own."""
    if isinstance(thing, Table):
        data = _table_data(thing)
    elif isinstance(thing, View):
        data = _view_data(thing)
    elif isinstance(thing, Cube):
        data = _cube_data(thing)
    elif isinstance(thing, Namespace):
        data = {"location": thing.location, "comment": thing.comment, "properties": dict(thing.properties)}
    else:
        data = _fact_data(thing)
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


@lru_cache(maxsize=1024)
def decoded(kind: str, id: int, name: str, text: str) -> Object:
    """The object that ``to_text`` described. Definitions never change, so the same one is answered again."""
    data = json.loads(text)
    if kind == "table":
        return _table(id, name, data)
    if kind == "view":
        return _view(id, name, data)
    if kind == "database":
        return Namespace(id, name, **data)
    return _cube(id, name, data) if kind == "cube" else _fact(id, name, data)


def _columns(data: list[list[str | None]]) -> tuple[Column, ...]:
    return tuple(Column(str(name), str(type), comment) for name, type, comment in data)


def _columns_data(columns: tuple[Column, ...]) -> list[list[str | None]]:
    return [[column.name, column.type, column.comment] for column in columns]


def _table_data(table: Table) -> dict[str, Any]:
    return {
        "columns": _columns_data(table.columns),
        "partition_columns": _columns_data(table.partition_columns),
        "format": table.format,
        "location": table.location,
        "external": table.external,
        "comment": table.comment,
        "properties": dict(table.properties),
    }


def _table(id: int, name: str, data: dict[str, Any]) -> Table:
    columns, partition_columns = _columns(data.pop("columns")), _columns(data.pop("partition_columns"))
    return Table(id, name, columns, partition_columns, **data)


def _view_data(view: View) -> dict[str, Any]:
    # Of a view of ``default`` earlier versions say the same.
    return {
        **({} if view.database == DEFAULT_DATABASE else {"database": view.database}),
        "query": view.query,
        "columns": view.columns,
        "comment": view.comment,
        "properties": dict(view.properties),
    }


def _view(id: int, name: str, data: dict[str, Any]) -> View:
    columns = tuple((column, comment) for column, comment in data.pop("columns"))
    return View(id, name, columns=columns, **data)


def _cube_data(cube: Cube) -> dict[str, Any]:
    return {
        **_zone_data(cube.zone),
        "dimensions": _columns_data(cube.dimensions),
        "measures": [[m.name, m.type, m.aggregate.value, m.counted_by, m.not_null] for m in cube.measures],
        "times": cube.times,
        "column_order": cube.column_order,
    }


def _cube(id: int, name: str, data: dict[str, Any]) -> Cube:
    measures = tuple(Measure(m[0], m[1], Aggregate(m[2]), m[3], m[4]) for m in data["measures"])
    times, column_order = tuple(data["times"]), tuple(data["column_order"])
    return Cube(id, name, _columns(data["dimensions"]), measures, times, column_order, _zone(data))


def _zone_data(zone: str) -> dict[str, str]:
    """A zone stands in definitions where it is not UTC: so say those of earlier versions, which have no such entry."""
    return {} if zone == "UTC" else {"time_zone": zone}


def _zone(data: dict[str, Any]) -> str:
    return str(data.get("time_zone", "UTC"))


def _fact_data(fact: Fact) -> dict[str, Any]:
    return {
        **_zone_data(fact.zone),
        "cube": fact.cube,
        "columns": fact.columns,
        "weight": fact.weight,
        "storages": [
            [storage.name, [_storage_table_data(t) for t in storage.tables], storage.start, storage.end]
            for storage in fact.storages
        ],
    }


def _fact(id: int, name: str, data: dict[str, Any]) -> Fact:
    # Facts of the first schema have no bounds.
    calendar = calendar_of(_zone(data))
    storages = tuple(
        Storage(label, tuple(_storage_table(table, calendar) for table in tables), *bounds)
        for label, tables, *bounds in data["storages"]
    )
    columns = None if data["columns"] is None else tuple(data["columns"])
    return Fact(id, name, data["cube"], storages, columns, data["weight"], calendar.zone)


def _storage_table_data(table: StorageTable) -> dict[str, Any]:
    complete = [[one.column, one.values] for one in table.complete]
    return {
        "table": table.table,
        "time": table.time,
        "trusted": table.trusted,
        "layouts": _layouts_data(table.layouts),
        "complete": complete,
        "start": table.start,
        "end": table.end,
        "others": [[other.time, _layouts_data(other.layouts)] for other in table.others],
    }


def _storage_table(data: dict[str, Any], calendar: Calendar) -> StorageTable:
    # Facts of the first schema have no such entries.
    complete = tuple(
        Completeness(column, None if values is None else tuple(values)) for column, values in data.get("complete", ())
    )
    others = tuple(OtherTime(time, _layouts(layouts, calendar)) for time, layouts in data.get("others", ()))
    layouts, bounds = _layouts(data["layouts"], calendar), (data.get("start"), data.get("end"))
    return StorageTable(data["table"], data["time"], layouts, data["trusted"], complete, others, *bounds)


def _layouts_data(layouts: Mapping[Period, TimeLayout]) -> list[dict[str, object]]:
    return [layout.to_json() for layout in layouts.values()]


def _layouts(data: list[dict[str, object]], calendar: Calendar) -> dict[Period, TimeLayout]:
    return {calendar.of(layout.period): layout for layout in map(TimeLayout.from_json, data)}
