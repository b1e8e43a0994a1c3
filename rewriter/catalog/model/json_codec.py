"""Databases, tables, views, cubes, facts, functions and the catalog's properties as JSON text, and back."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import lru_cache
from types import NoneType
from typing import Any

from rewriter.catalog.model.objects import (
    DEFAULT_DATABASE,
    PROPERTIES_KEY,
    Aggregate,
    CatalogProperties,
    ClusterLocation,
    Column,
    Completeness,
    Cube,
    Fact,
    FactLife,
    Function,
    Measure,
    Namespace,
    OtherTime,
    Storage,
    StorageTable,
    Table,
    View,
    Widening,
    database_key,
    function_key,
)
from rewriter.catalog.model.partition_transforms import PartitionTransform
from rewriter.catalog.model.sql_functions import FunctionParameter, ReturnedColumn, SqlBody
from rewriter.catalog.model.stored_paths import MOVING, loaded_in, stored_location_in
from rewriter.catalog.model.temporary_views import TemporaryView
from rewriter.errors import Error, OperationalError
from rewriter.timeline.calendars import Calendar, Period, calendar_of
from rewriter.timeline.layouts import TimeLayout

Object = Table | View | Cube | Fact | Function | Namespace | CatalogProperties

_KINDS: Mapping[type, str] = {
    Table: "table",
    View: "view",
    TemporaryView: "view",
    Cube: "cube",
    Fact: "fact",
    Function: "function",
    Namespace: "database",
    CatalogProperties: "properties",
}


def kind_of(object_: Object) -> str:
    """Returns ``table``, ``view``, ``cube``, ``fact``, ``function``, ``database`` or ``properties``."""
    return _KINDS[type(object_)]


def key_of(object_: Object) -> str:
    """Returns the look-up key of an object."""
    return key_of_kind(kind_of(object_), object_.name)


def key_of_kind(kind: str, name: str) -> str:
    """Returns the look-up key of an object of a kind. The keys of databases, functions and the properties differ from
    the keys of other objects.
    """
    if kind == "properties":
        return PROPERTIES_KEY
    if kind == "function":
        return function_key(name)
    return database_key(name) if kind == "database" else name.lower()


def to_text(object_: Object, warehouse: str) -> str:
    """Returns the definition without id and name, which have their own columns. Paths are as in ``stored_paths``."""
    if isinstance(object_, Table):
        data = _table_data(object_)
    elif isinstance(object_, View):
        data = _view_data(object_)
    elif isinstance(object_, Cube):
        data = _cube_data(object_)
    elif isinstance(object_, Function):
        data = _function_data(object_)
    elif isinstance(object_, Namespace):
        data = {"location": object_.location, "comment": object_.comment, "properties": dict(object_.properties)}
    elif isinstance(object_, CatalogProperties):
        data = {"properties": dict(object_.properties)}
    else:
        data = _fact_data(object_)
    return as_text(with_changed_paths(data, stored_location_in(warehouse)))


def as_text(data: Mapping[str, Any]) -> str:
    """Returns a definition as the catalog stores it."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def with_changed_paths(data: dict[str, Any], change: Callable[[str], str]) -> dict[str, Any]:
    """Returns a definition's data with each of its paths changed: its location, and the paths of moving directories."""
    if data.get("location") is None:
        return data
    properties = {
        key: _moved(text, change) if key.startswith(MOVING) else text for key, text in data["properties"].items()
    }
    changed = {**data, "location": change(data["location"]), "properties": properties}
    if "copies" in data:
        changed["copies"] = [[cluster, change(location)] for cluster, location in data["copies"]]
    return changed


def _moved(text: str, change: Callable[[str], str]) -> str:
    try:
        return json.dumps([[change(source), change(target)] for source, target in json.loads(text)], ensure_ascii=False)
    except (ValueError, TypeError, AttributeError):
        return text  # A note of another form.


@lru_cache(maxsize=1024)
def decode_object(kind: str, id: int, name: str, text: str, warehouse: str) -> Object:
    """Returns the object that ``to_text`` described. Definitions never change, so the result is cached.

    Raises ``OperationalError`` DAMAGED_CATALOG for a text that describes no object: another program wrote it.
    """
    try:
        object_ = _decoded(kind, id, name, text, warehouse)
        _check_members(object_)
        return object_
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError, Error) as error:
        raise damaged(f"the {kind} '{name}'", name, f"{type(error).__name__}: {error}") from error


def damaged(subject: str, name: str, problem: str) -> OperationalError:
    """Returns ``OperationalError`` DAMAGED_CATALOG XX001: the catalog's data about an object is invalid."""
    return OperationalError(
        f"{subject} is damaged in the catalog: {problem}",
        condition="DAMAGED_CATALOG",
        sqlstate="XX001",
        object=name,
        hint="`rewriter catalog check` lists the damage; restore a dump of the catalog.",
    )


#: The members of a definition besides the objects that the code makes from it.
_MEMBERS: Mapping[str, type | tuple[type, ...]] = {
    "name": str,
    "type": str,
    "format": str,
    "location": (str, NoneType),
    "external": bool,
    "comment": (str, NoneType),
    "query": str,
    "database": str,
    "cube": str,
    "weight": (int, float),
    "table": str,
    "time": str,
    "trusted": bool,
    "refresh_on_commit": bool,
    "start": (str, NoneType),
    "end": (str, NoneType),
    "counted_by": (str, NoneType),
    "stored": (str, NoneType),
    "not_null": bool,
    "events": bool,
    "lateness": (str, NoneType),
    "retain": (str, NoneType),
    "cluster": (str, NoneType),
    "class_name": str,
    "owner": (str, NoneType),
    "created": int,
    "dropped": int,
    "source": (str, NoneType),
}


#: The members that hold at least one object or name.
_FILLED: Mapping[type, str] = {Fact: "storages", Storage: "tables", StorageTable: "layouts"}

#: The characters in the spelling of a type.
_TYPE = re.compile(r"(?:[\w<>(),: ]|`(?:[^`]|``)*`)*")


def _check_members(value_tree: object) -> None:
    """Raises ``TypeError`` if a member has another type than its kind of object requires."""
    if isinstance(value_tree, tuple):
        for part in value_tree:
            if not (part is None or isinstance(part, str | tuple) or is_dataclass(part)):
                raise TypeError(f"{part!r} is in a list of names")
            _check_members(part)
    if not is_dataclass(value_tree):
        return
    if isinstance(value_tree, Table | ClusterLocation) and not isinstance(value_tree.location, str):
        raise TypeError(f"location is {value_tree.location!r}")
    if not getattr(value_tree, _FILLED.get(type(value_tree), ""), True):
        raise ValueError(f"it has no {_FILLED[type(value_tree)]}")
    for member in fields(value_tree):
        _check_member(member.name, getattr(value_tree, member.name))


def _check_member(name: str, value: object) -> None:
    """Raises ``TypeError`` for a value of another type, ``ValueError`` for one that no column or place can have."""
    if not isinstance(value, _MEMBERS.get(name, object)):
        raise TypeError(f"{name} is {value!r}")
    if name == "type" and _TYPE.fullmatch(str(value)) is None:
        raise ValueError(f"{value!r} is not a type")
    if name == "location" and "\0" in str(value):
        raise ValueError("its location contains the character NUL")
    if name == "properties" or (name == "raw" and value is not None):
        if not isinstance(value, dict) or not all(isinstance(text, str) for pair in value.items() for text in pair):
            raise TypeError(f"{name} is {value!r}")
    else:
        _check_members(value)


def _decoded(kind: str, id: int, name: str, text: str, warehouse: str) -> Object:
    data = with_changed_paths(json.loads(text), loaded_in(warehouse))
    if kind == "table":
        return _table(id, name, data)
    if kind == "view":
        return _view(id, name, data)
    if kind == "function":
        return _function(id, name, data)
    if kind == "database":
        return Namespace(id, name, **data)
    if kind == "properties":
        return CatalogProperties(id, data["properties"], name)
    return _cube(id, name, data) if kind == "cube" else _fact(id, name, data)


def _listed(data: object) -> tuple[Any, ...]:
    if not isinstance(data, list):
        raise TypeError(f"{data!r} is not a list")
    return tuple(data)


def _names(data: object) -> tuple[str, ...]:
    names = _listed(data)
    if not all(isinstance(name, str) for name in names):
        raise TypeError(f"{data!r} is not a list of names")
    return names


def _pair(data: object) -> tuple[str, str]:
    first, second = _names(data)
    return first, second


def _columns(data: list[list[Any]]) -> tuple[Column, ...]:
    if not all(isinstance(column, list) for column in data):
        raise TypeError(f"{data!r} is not a list of columns")
    return tuple(map(_column, data))


def _column(data: list[Any]) -> Column:
    default, stored, transform, not_null = (*data[3:], None, None, None, None)[:4]
    transform = None if transform is None else PartitionTransform(*transform)
    return Column(data[0], data[1], data[2], default, stored, transform, bool(not_null))


def _columns_data(columns: tuple[Column, ...]) -> list[list[Any]]:
    return [[column.name, column.type, column.comment, *_column_options(column)] for column in columns]


def _column_options(column: Column) -> list[Any]:
    """Returns what columns of earlier versions do not have, as far as this one has it."""
    if column.not_null:
        return [column.default, column.stored, None, True]
    if column.transform is not None:
        return [column.default, column.stored, [column.transform.function, column.transform.source]]
    if column.stored is not None:
        return [column.default, column.stored]
    return [] if column.default is None else [column.default]


def _table_data(table: Table) -> dict[str, Any]:
    return {
        "columns": _columns_data(table.columns),
        "partition_columns": _columns_data(table.partition_columns),
        "format": table.format,
        "location": table.location,
        "external": table.external,
        "comment": table.comment,
        "properties": dict(table.properties),
        # Tables of earlier versions, and tables of the default cluster alone, have no such entries.
        **({} if table.cluster is None else {"cluster": table.cluster}),
        **({} if not table.copies else {"copies": [[copy.cluster, copy.location] for copy in table.copies]}),
        **({"dropped_columns": table.dropped_columns} if table.dropped_columns else {}),
    }


def _table(id: int, name: str, data: dict[str, Any]) -> Table:
    columns, partition_columns = _columns(data.pop("columns")), _columns(data.pop("partition_columns"))
    copies = tuple(ClusterLocation(cluster, location) for cluster, location in _listed(data.pop("copies", [])))
    dropped = _names(data.pop("dropped_columns", []))
    return Table(id, name, columns, partition_columns, copies=copies, dropped_columns=dropped, **data)


def _view_data(view: View) -> dict[str, Any]:
    # Definitions of earlier versions, without a database, mean ``default``.
    return {
        **({} if view.database == DEFAULT_DATABASE else {"database": view.database}),
        "query": view.query,
        "columns": view.columns,
        "comment": view.comment,
        "properties": dict(view.properties),
    }


def _view(id: int, name: str, data: dict[str, Any]) -> View:
    columns = tuple((column, comment) for column, comment in _listed(data.pop("columns")))
    for column, comment in columns:
        if not isinstance(column, str) or not isinstance(comment, str | NoneType):
            raise TypeError(f"({column!r}, {comment!r}) is no column with its comment")
    return View(id, name, columns=columns, **data)


def _function_data(function: Function) -> dict[str, Any]:
    data: dict[str, Any] = {
        "class_name": function.class_name,
        "owner": function.owner,
        "created": function.created,
        "resources": [list(resource) for resource in function.resources],
    }
    if function.sql is not None:
        parameters = [[p.name, p.type, p.default, p.comment] for p in function.sql.parameters]
        data["sql"] = {**vars(function.sql), "parameters": parameters}
        if function.sql.columns is None:
            del data["sql"]["columns"]  # As in earlier versions, whose functions return no tables.
        else:
            data["sql"]["columns"] = [[c.name, c.type, c.comment] for c in function.sql.columns]
    return data if function.source is None else {**data, "source": function.source}


def _function(id: int, name: str, data: dict[str, Any]) -> Function:
    resources = tuple((kind, uri) for kind, uri in map(_names, _listed(data["resources"])))
    sql = None if "sql" not in data else _sql_body(data["sql"])
    return Function(id, name, data["class_name"], data["owner"], data["created"], resources, data.get("source"), sql)


def _sql_body(data: dict[str, Any]) -> SqlBody:
    parameters = tuple(FunctionParameter(*parameter) for parameter in _listed(data["parameters"]))
    columns = None
    if "columns" in data:
        columns = tuple(ReturnedColumn(*column) for column in _listed(data["columns"]))
    body = SqlBody(**{**data, "parameters": parameters, "columns": columns})
    named = [*((p.name, p.type) for p in parameters), *((c.name, c.type) for c in columns or ())]
    texts = (body.returns, body.expression, body.database, *named)
    if not all(isinstance(text, str) for item in texts for text in (item if isinstance(item, tuple) else (item,))):
        raise TypeError("a SQL function has parts that are no texts")
    return body


def _cube_data(cube: Cube) -> dict[str, Any]:
    return {
        **_zone_data(cube.zone),
        "dimensions": _columns_data(cube.dimensions),
        "measures": list(map(_measure_data, cube.measures)),
        "times": cube.times,
        "column_order": cube.column_order,
        **({"log_names": cube.log_names} if cube.log_names else {}),
    }


def _measure_data(measure: Measure) -> list[object]:
    kind, counter = measure.aggregate.value, measure.counted_by
    data: list[object] = [measure.name, measure.type, kind, counter, measure.not_null, measure.events]
    if measure.precision is not None:
        return [*data, None, None, (), measure.precision]
    if measure.ordered_by is not None:
        return [*data, None, measure.ordered_by, measure.per]
    return data if measure.bucketed_by is None else [*data, measure.bucketed_by]


def _cube(id: int, name: str, data: dict[str, Any]) -> Cube:
    measures = tuple(
        Measure(name, type_, Aggregate(role), *options[:5], *map(_names, options[5:6]), *options[6:])
        for name, type_, role, *options in data["measures"]
    )
    times, column_order = _names(data["times"]), _names(data["column_order"])
    if not set(times) <= set(column_order):
        raise ValueError(f"{times!r} are not among its columns")
    log_names = tuple(map(_pair, _listed(data.get("log_names", []))))
    cube = Cube(id, name, _columns(data["dimensions"]), measures, times, column_order, _zone(data), log_names)
    # Measures of earlier versions have no mark.
    return _with_mark(cube) if any(len(measure) == _UNMARKED for measure in data["measures"]) else cube


_UNMARKED = 5


def _with_mark(cube: Cube) -> Cube:
    """Marks the event counter in a cube of an earlier version, if the declaration alone does not determine it now.

    In those versions, the first COUNT measure that no COUNTED BY names counts events.
    """
    named = {measure.counted_by.lower() for measure in cube.measures if measure.counted_by}
    meant = next((measure for measure in cube.counters if measure.name.lower() not in named), None)
    if meant is None or meant == cube.count_measure:
        return cube
    measures = (replace(measure, events=True) if measure is meant else measure for measure in cube.measures)
    return replace(cube, measures=tuple(measures))


def _zone_data(zone: str) -> dict[str, str]:
    """Writes a zone only if it is not UTC, as in earlier versions, which have no such entry."""
    return {} if zone == "UTC" else {"time_zone": zone}


def _zone(data: dict[str, Any]) -> str:
    return str(data.get("time_zone", "UTC"))


def _fact_data(fact: Fact) -> dict[str, Any]:
    return {
        **_zone_data(fact.zone),
        # Facts of earlier versions, and facts that declare no lateness, have no such entry.
        **({} if fact.lateness is None else {"lateness": fact.lateness}),
        **({"refresh_on_commit": True} if fact.refresh_on_commit else {}),
        **({"earlier": [[life.created, life.dropped] for life in fact.earlier]} if fact.earlier else {}),
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
    columns = None if data["columns"] is None else _names(data["columns"])
    earlier = tuple(FactLife(*life) for life in data.get("earlier", ()))
    declared = (data["cube"], storages, columns, data["weight"], calendar.zone, data.get("lateness"))
    return Fact(id, name, *declared, earlier, data.get("refresh_on_commit", False))


def _storage_table_data(table: StorageTable) -> dict[str, Any]:
    complete = [[completion.column, completion.values] for completion in table.complete]
    return {
        "table": table.table,
        "time": table.time,
        "trusted": table.trusted,
        "layouts": _layouts_data(table.layouts),
        "complete": complete,
        "start": table.start,
        "end": table.end,
        "others": [[other.time, _layouts_data(other.layouts)] for other in table.others],
        **({"joined": table.joined} if table.joined else {}),
        **({} if table.raw is None else {"raw": dict(table.raw)}),
        **({} if table.columns is None else {"columns": table.columns}),
        **({"made": True} if table.made else {}),
        **({} if table.retain is None else {"retain": table.retain}),
        **({"widenings": [[w.commit, w.columns] for w in table.widenings]} if table.widenings else {}),
    }


def _storage_table(data: dict[str, Any], calendar: Calendar) -> StorageTable:
    # Facts of the first schema have no such entries.
    complete = tuple(
        Completeness(column, None if values is None else _listed(values)) for column, values in data.get("complete", ())
    )
    others = tuple(OtherTime(time, _layouts(layouts, calendar)) for time, layouts in data.get("others", ()))
    layouts, bounds = _layouts(data["layouts"], calendar), (data.get("start"), data.get("end"))
    joined, raw = data.get("joined", 0), data.get("raw")
    columns = _names(data["columns"]) if "columns" in data else None
    return StorageTable(
        data["table"],
        data["time"],
        layouts,
        data["trusted"],
        complete,
        others,
        *bounds,
        joined,
        raw,
        columns,
        data.get("made", False),
        data.get("retain"),
        tuple(Widening(commit, _names(columns)) for commit, columns in data.get("widenings", ())),
    )


def _layouts_data(layouts: Mapping[Period, TimeLayout]) -> list[dict[str, object]]:
    return [layout.to_json() for layout in layouts.values()]


def _layouts(data: list[dict[str, object]], calendar: Calendar) -> dict[Period, TimeLayout]:
    return {calendar.of(layout.period): layout for layout in map(TimeLayout.from_json, data)}
