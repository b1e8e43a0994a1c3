"""The current database, written into a statement: names without one get it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar, cast

from rewriter.grammar import statements as s
from rewriter.grammar.statements import Name, Statement

_S = TypeVar("_S", bound=Statement)


def qualified(statement: _S, database: str, is_temporary: Callable[[str], bool]) -> _S:
    """The statement as it would be typed while no database is current: each ``Name`` says which one it belongs to.

    Places stay. What is no name of an object (``DatabaseName``, ``NewName``, the text of a query) stays as it is; names
    in a query are looked up where it is planned. Temporary tables, those that are made and those that are there, belong
    to none. O(size of the statement), and what it takes to say which names are temporary.
    """
    made: Any = _qualified(statement, database, is_temporary)
    if isinstance(statement, _CREATE_TABLE) and statement.temporary:
        made = replace(made, table=statement.table)
    permanent = {
        name: _qualified(getattr(statement, name), database, lambda _: False) for name in _permanent(statement)
    }
    return cast(_S, replace(made, **permanent))


_CREATE_TABLE = s.CreateTable | s.CreateTableAs | s.CreateTableLike
_OF_FACT = s.ShowTimelines | s.ShowCoverage | s.ShowLatest | s.CheckFact | s.RefreshFact | s.RefreshTimelines


def _permanent(statement: Statement) -> tuple[str, ...]:
    """The fields that never mean a temporary table: what is made for good, and what names a cube or a fact."""
    if isinstance(statement, _CREATE_TABLE):
        return () if statement.temporary else ("table",)
    if isinstance(statement, s.Describe | s.ShowCreate):
        return ("name",) if statement.kind in ("CUBE", "FACT") else ()
    if isinstance(statement, s.CreateView):
        return ("view",)
    if isinstance(statement, s.CreateFact):
        return ("name", "cube")
    if isinstance(statement, s.CreateCube | s.DropCube | s.DropFact):
        return ("name",)
    return ("fact",) if isinstance(statement, _OF_FACT) else ()


def _qualified(value: Any, database: str, is_temporary: Callable[[str], bool]) -> Any:
    if isinstance(value, Name):
        plain = len(value.parts) == 1 and not is_temporary(value.last)
        return replace(value, parts=(database, *value.parts)) if plain else value
    if isinstance(value, tuple):
        return tuple(_qualified(one, database, is_temporary) for one in value)
    if is_dataclass(value) and not isinstance(value, type):
        made = {
            one.name: _qualified(getattr(value, one.name), database, is_temporary) for one in fields(value) if one.init
        }
        changed = {
            name: new for name, new in made.items() if new is not getattr(value, name) and new != getattr(value, name)
        }
        return replace(value, **changed) if changed else value
    return value
