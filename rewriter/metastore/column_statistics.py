"""Column statistics of clients, as the text of one property of a table or partition.

The text is JSON: for each column, in lower case, the structures of the client, and the type that the column had then.
Statistics of a column that has another type now, or that the table no longer has, are not shown.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from thrift.Thrift import TType

from rewriter.errors import DataError
from rewriter.lazy_dataclass import dataclass
from rewriter.metastore.wire.interface import Structure, structure

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Column

_Object: Any = structure("ColumnStatisticsObj")
_Data: Any = structure("ColumnStatisticsData")

#: The fields that are combined otherwise than as the greater of both.
_SUMS = frozenset({"numTrues", "numFalses", "numNulls"})
_LEAST = frozenset({"lowValue"})


@dataclass(frozen=True)
class ColumnStatistics:
    """Statistics of a column: the client's structure, the time of the analysis in seconds since 1970, and the type
    that the column had in the catalog.
    """

    object: Any
    analyzed: int
    type: str


Statistics = Mapping[str, ColumnStatistics]


def read_statistics(text: str | None, columns: Iterable[Column]) -> dict[str, ColumnStatistics]:
    """Returns the statistics that a property has for the present columns, by their names in lower case."""
    try:
        values = json.loads(text or "{}")
        types = {column.name.lower(): column.type for column in columns}
        return {
            name: ColumnStatistics(_structure_of(_Object, value["object"]), value["analyzed"], value["type"])
            for name, value in values.items()
            if types.get(name) == value["type"]
        }
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}  # No text of this module: statistics are estimates, so there are none.


def statistics_text(statistics: Statistics) -> str:
    """Returns the property for statistics. Reading it gives equal ones."""
    return json.dumps(
        {
            name: {"object": _values_of(column.object), "analyzed": column.analyzed, "type": column.type}
            for name, column in statistics.items()
        },
        ensure_ascii=False,
    )


def statistics_of_present(text: str, columns: Iterable[Column]) -> str | None:
    """Returns a property without the statistics of columns that a table has no longer, or has with another type;
    ``None`` if none are left.
    """
    statistics = read_statistics(text, columns)
    return statistics_text(statistics) if statistics else None


def given_statistics(
    objects: Sequence[Any] | None, columns: Iterable[Column], table: str, analyzed: int
) -> dict[str, ColumnStatistics]:
    """Returns the statistics that a client gives for columns of a table.

    Raises ``DataError`` INVALID_COLUMN_STATISTICS for a column that the table does not have, and for statistics without
    data, or with data of several kinds.
    """
    types = {column.name.lower(): column.type for column in columns}
    read: dict[str, ColumnStatistics] = {}
    for given in objects or ():
        name = str(given.colName or "").lower()
        if name not in types:
            raise _invalid(table, f"the table has no data column {given.colName}")
        if len(_kinds(given.statsData)) != 1:
            raise _invalid(table, f"those of {given.colName} need data of one kind")
        read[name] = ColumnStatistics(given, analyzed, types[name])
    return read


def merged(parts: Sequence[Any]) -> Any:
    """Returns the statistics of a column over several parts of a table, at least one, as Hive combines them.

    Counts of rows are added. Of distinct values the greatest number is taken, which is a lower bound. The bit vectors
    of several parts are dropped. Raises ``DataError`` INVALID_COLUMN_STATISTICS if the parts differ in kind.
    """
    kinds = {kind for part in parts for kind in _kinds(part.statsData)}
    if len(kinds) != 1:
        raise _invalid(str(parts[0].colName), f"{', '.join(sorted(kinds))} cannot be combined")
    if len(parts) == 1:
        return parts[0]
    (kind,) = kinds
    values = [getattr(part.statsData, kind) for part in parts]
    fields = {name: _combined(name, [getattr(value, name) for value in values]) for name in type(values[0]).fields}
    return _Object(
        colName=parts[0].colName, colType=parts[0].colType, statsData=_Data(**{kind: type(values[0])(**fields)})
    )


def _combined(name: str, values: Sequence[Any]) -> Any:
    there = [value for value in values if value is not None]
    if not there or name == "bitVectors":
        return None
    if name in _SUMS:
        return sum(there)
    ordered = sorted(there, key=_order)
    return ordered[0] if name in _LEAST else ordered[-1]


def _order(value: Any) -> Any:
    if not isinstance(value, Structure):
        return value
    if "daysSinceEpoch" in type(value).fields:
        return getattr(value, "daysSinceEpoch", None) or 0
    unscaled = int.from_bytes(getattr(value, "unscaled", None) or b"", "big", signed=True)
    return Decimal(unscaled).scaleb(-(getattr(value, "scale", None) or 0))


def _kinds(data: Any) -> list[str]:
    return [] if data is None else [name for name in type(data).fields if getattr(data, name) is not None]


def _values_of(value: Structure) -> dict[str, Any]:
    """Returns the set fields of a structure as JSON has them."""
    fields = [field for field in type(value).thrift_spec if field is not None]
    return {
        name: _value_of(type_, details, given)
        for _, type_, name, details, _ in fields
        if (given := getattr(value, name)) is not None
    }


def _value_of(type_: int, details: Any, value: Any) -> Any:
    if type_ == TType.STRUCT:
        return _values_of(value)
    if type_ == TType.DOUBLE:
        return value if math.isfinite(value) else str(value)
    if type_ == TType.STRING and details == "BINARY":
        return base64.b64encode(value).decode("ascii")
    return value


def _structure_of(class_: type[Structure], values: Mapping[str, Any]) -> Any:
    fields = [field for field in class_.thrift_spec if field is not None]
    return class_(
        **{name: _from_json(type_, details, values[name]) for _, type_, name, details, _ in fields if name in values}
    )


def _from_json(type_: int, details: Any, value: Any) -> Any:
    if type_ == TType.STRUCT:
        return _structure_of(details[0], value)
    if type_ == TType.DOUBLE:
        return float(value)
    if type_ == TType.STRING and details == "BINARY":
        return base64.b64decode(value)
    return value


def _invalid(name: str, reason: str) -> DataError:
    return DataError(
        f"The column statistics of {name} are refused: {reason}.",
        condition="INVALID_COLUMN_STATISTICS",
        object=name,
        hint="Give each data column of the table one structure, of the kind of its type.",
    )
