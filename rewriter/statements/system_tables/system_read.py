"""The read of a system table by one statement, and which of its rows are computed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, assert_never

from rewriter.catalog.filters.predicates import (
    AllOf,
    AnyOf,
    Computed,
    FieldIn,
    FieldLike,
    FieldsIn,
    NotOfNulls,
    ScanFilter,
)
from rewriter.catalog.keys.encoding import NULL, decode_value, encode_value
from rewriter.catalog.keys.values import DEFAULT_PARTITION
from rewriter.catalog.model.key_ranges import after
from rewriter.catalog.model.objects import Column, Table, View, full_name
from rewriter.catalog.model.temporary_views import place_of
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from rewriter.catalog.model.json_codec import Object
    from rewriter.catalog.model.system_tables import SystemTable
    from rewriter.runtime.statement_context import Context

#: The most tables that are looked up one by one.
_MOST_LOOKUPS = 100


@dataclass(frozen=True)
class SystemRead:
    """A read of ``table``. ``wanted`` is the query's filter on its selecting columns: all other rows may be left out.

    ``view_columns`` returns the columns of a view, with their types. It may start the engine.
    """

    table: SystemTable
    wanted: ScanFilter | None
    context: Context
    view_columns: Callable[[View], Sequence[Column]]

    def admits(self, object_: Object) -> bool:
        """Tests whether the query may need rows of an object, by its database and name. Reads nothing."""
        if self.wanted is None:
            return True
        known = [_field(text) for text in schema_and_name(object_)]
        return _possible(self.wanted, [*known, *[None] * (len(self.table.partition_columns) - len(known))])

    def among(self, objects: Sequence[Object]) -> Iterator[Object]:
        """Yields the objects that the query may need."""
        return filter(self.admits, objects)

    def values_of(self, index: int) -> tuple[str, ...] | None:
        """Returns the values to which the query restricts a selecting column; ``None`` if it allows others, too."""
        parts = self.wanted.parts if isinstance(self.wanted, AllOf) else (self.wanted,)
        for part in parts:
            ranges = part.ranges if isinstance(part, FieldIn) and part.index == index else None
            if ranges is not None and all(r.start > NULL and r.end == after(r.start) for r in ranges):
                return tuple(decode_value("string", key_range.start) or "" for key_range in ranges)
        return None

    def tables(self) -> Iterator[Table]:
        """Yields the tables of the catalog that the query may need.

        Where the query names the databases and the tables, each is looked up by name. Otherwise, all are read.
        """
        databases, names = self.values_of(0), self.values_of(1)
        snapshot = self.context.snapshot
        if databases is None or names is None or len(databases) * len(names) > _MOST_LOOKUPS:
            found: Sequence[Object | None] = snapshot.tables()
        else:
            found = [snapshot.named(full_name(database, name)) for database in databases for name in names]
        # Texts that differ in case find one table.
        tables = {object_.id: object_ for object_ in found if isinstance(object_, Table)}
        yield from filter(self.admits, tables.values())


def _field(text: str | None) -> bytes | None:
    """Returns a value as a filter compares it; ``None`` for a text that a filter on partition columns takes for NULL,
    which excludes nothing.
    """
    if text is None:
        return NULL
    return None if text in ("", DEFAULT_PARTITION) else encode_value("string", text)


def _possible(tree: ScanFilter, fields: Sequence[bytes | None]) -> bool:
    """Tests whether a filter can be TRUE, where some fields are unknown."""
    match tree:
        case AllOf():
            return all(_possible(part, fields) for part in tree.parts)
        case AnyOf():
            return any(_possible(part, fields) for part in tree.parts)
        case FieldIn() | FieldLike():
            is_known = fields[tree.index] is not None
        case FieldsIn() | Computed():
            is_known = all(fields[index] is not None for index in tree.indexes)
        case NotOfNulls():
            return True
        case _:
            assert_never(tree)
    return not is_known or tree.holds([field or NULL for field in fields])


def schema_and_name(object_: Object) -> tuple[str | None, str]:
    """Returns database and name of an object; a temporary one has no database."""
    database, name = place_of(object_.name)
    return database or None, name


def microseconds(seconds: float | None) -> int | None:
    """Returns a time in seconds since 1970 as the value of a TIMESTAMP."""
    return None if seconds is None else round(seconds * 1e6)
