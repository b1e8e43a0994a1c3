"""Qualifies names: adds the current database to the names of a statement that have none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar, cast

from rewriter.grammar.statements import Statement
from rewriter.grammar.terms import Name

_S = TypeVar("_S", bound=Statement)


def qualified(statement: _S, database: str, is_temporary: Callable[[str], bool]) -> _S:
    """Returns the statement as it would be typed without a current database: each ``Name`` has its database.

    Spans are unchanged. Names that do not denote an existing object (``DatabaseName``, ``NewName``) and the text of a
    query are unchanged; the planner resolves the names in a query. Temporary tables, new and existing ones, belong to
    no database. O(size of the statement), plus the lookups of temporary names.
    """
    qualified_statement: Any = _qualified(statement, database, is_temporary)
    as_typed = {name: getattr(statement, name) for name in statement.unqualified_names()}
    permanent = {
        name: _qualified(getattr(statement, name), database, lambda _: False) for name in statement.permanent_names()
    }
    return cast(_S, replace(qualified_statement, **as_typed, **permanent))


def _qualified(value: Any, database: str, is_temporary: Callable[[str], bool]) -> Any:
    if isinstance(value, Name):
        is_unqualified = len(value.parts) == 1 and not is_temporary(value.last)
        return replace(value, parts=(database, *value.parts)) if is_unqualified else value
    if isinstance(value, tuple):
        return tuple(_qualified(item, database, is_temporary) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        qualified_fields = {
            field.name: _qualified(getattr(value, field.name), database, is_temporary)
            for field in fields(value)
            if field.init
        }
        changed = {
            name: field_value
            for name, field_value in qualified_fields.items()
            if field_value is not getattr(value, name) and field_value != getattr(value, name)
        }
        return replace(value, **changed) if changed else value
    return value
