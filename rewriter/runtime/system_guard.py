"""Refuses statements that name a system table, or its database, and are not made to read it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING

from rewriter.catalog.model.objects import database_of
from rewriter.catalog.model.system_tables import SYSTEM_DATABASES, SYSTEM_TABLES, system_read_only
from rewriter.errors import Error, Span
from rewriter.grammar.terms import ClusterName, DatabaseName, Literal, Name, NewName, PartitionItem, Query
from rewriter.runtime.statement_context import Context, single

if TYPE_CHECKING:
    from rewriter.grammar.statements import Statement

_NAMELESS = (str, int, ClusterName, Literal, PartitionItem, Query, Span)


def check_no_system_table(statement: Statement, context: Context) -> None:
    """Raises ``NotSupportedError`` SYSTEM_TABLE_IS_READ_ONLY, at the name, for a name in a database of system tables.

    Names in the text of a query are not names of the statement. O(size of the statement).
    """
    for name, span in _names(statement):
        database = database_of(name)
        if database in SYSTEM_DATABASES and context.snapshot.system_database(database) is not None:
            raise system_read_only(name if name.lower() in SYSTEM_TABLES else database).at(span)


def _names(value: object) -> Iterator[tuple[str, Span]]:
    """Yields the names in a statement as the catalog's names; the name of a database with a point behind it."""
    if isinstance(value, Name | NewName):
        try:
            yield single(Name(value.parts, value.span)), value.span
        except Error:
            return  # It is no name: the statement raises this error itself.
    elif isinstance(value, DatabaseName):
        yield f"{value.text.lower()}.", value.span
    elif isinstance(value, tuple):
        for item in value:
            if not isinstance(item, _NAMELESS):
                yield from _names(item)
    elif is_dataclass(value) and not isinstance(value, _NAMELESS):
        for field in fields(value):
            yield from _names(getattr(value, field.name))
