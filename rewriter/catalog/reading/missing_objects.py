"""Errors for names that no object of the expected kind has."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence

from rewriter.catalog.model.json_codec import Object, kind_of
from rewriter.catalog.model.objects import DEFAULT_DATABASE, Cube, Fact, Table, View, database_of, seen_from
from rewriter.catalog.model.stored_paths import READ_FILES, path_of
from rewriter.errors import AnalysisError

_NOT_FOUND = {
    Table: ("table or view", "TABLE_OR_VIEW_NOT_FOUND", "42P01"),
    View: ("view", "VIEW_NOT_FOUND", "42P01"),
    Cube: ("cube", "CUBE_NOT_FOUND", "42P01"),
    Fact: ("fact", "FACT_NOT_FOUND", "42P01"),
}
_LISTS = {Table: "TABLES", View: "VIEWS", Cube: "CUBES", Fact: "FACTS"}

#: The kinds of objects that are looked up by name.
Kind = type[Table] | type[View] | type[Cube] | type[Fact]


def view_instead(view: View) -> AnalysisError:
    """Returns the error for a view if a table is expected."""
    return AnalysisError(
        f"'{view.name}' is a view, and a table is expected here",
        condition="EXPECT_TABLE_NOT_VIEW.NO_ALTERNATIVE",
        sqlstate="42809",
        object=view.name,
        hint="Name the table that the view reads; CREATE OR REPLACE VIEW and DROP VIEW change a view.",
    )


def object_not_found(kind: Kind, name: str, hint: str) -> AnalysisError:
    """Returns the error for a name that no object of this kind has."""
    word, condition, sqlstate = _NOT_FOUND[kind]
    return AnalysisError(
        f"the {word} '{name}' cannot be found", condition=condition, sqlstate=sqlstate, object=name, hint=hint
    )


def another_kind(
    kind: Kind, name: str, object_: Object, facts_of: Callable[[str], Iterable[Fact]], current: str
) -> AnalysisError:
    """Returns the error for a name that an object of another kind has. ``facts_of`` returns the facts of a cube."""
    if kind is Table and isinstance(object_, View):
        return view_instead(object_)
    if kind is Table and isinstance(object_, Cube | Fact):
        facts = facts_of(object_.name) if isinstance(object_, Cube) else (object_,)
        return object_not_found(kind, name, _storage_hint(object_, facts, current))
    return object_not_found(
        kind, name, f"'{object_.name}' is a {kind_of(object_)}{_facts(kind, object_, facts_of, current)}."
    )


def _facts(kind: Kind, object_: Object, facts_of: Callable[[str], Iterable[Fact]], current: str) -> str:
    """Returns the end of the hint for a cube that is named in place of one of its facts."""
    if kind is not Fact or not isinstance(object_, Cube):
        return ""
    names = [seen_from(current, fact.name) for fact in facts_of(object_.name)]
    return f"; its facts: {', '.join(names[:_MOST_NAMED])}" if names else " without a fact"


#: How many storage tables a hint names.
_MOST_NAMED = 6


def _storage_hint(object_: Cube | Fact, facts: Iterable[Fact], current: str) -> str:
    """Returns the hint for a cube or a fact that is named where a table is needed: its storage tables."""
    periods: dict[str, list[str]] = {}
    for fact in facts:
        for storage_table in fact.tables:
            names = periods.setdefault(seen_from(current, storage_table.table), [])
            names += [period.name for period in storage_table.layouts if period.name not in names]
    meaning = "a cube, a name for the rows of its facts" if isinstance(object_, Cube) else "a fact, a set of tables"
    if not periods:
        return f"'{object_.name}' is {meaning}. No fact of it has a storage table: CREATE FACT declares them."
    tables = [f"{name} ({', '.join(names)})" for name, names in periods.items()]
    more = f" and {len(tables) - _MOST_NAMED} more" if len(tables) > _MOST_NAMED else ""
    listed = f"{', '.join(tables[:_MOST_NAMED])}{more}"
    return (
        f"'{object_.name}' is {meaning}. Name a storage table: {listed}. After an INSERT, REFRESH FACT computes the "
        "coarser periods."
    )


def no_database_hint(name: str) -> str:
    """Returns the hint for a name in a database that does not exist."""
    if path_of(name):
        format, _, path = name.partition(".")
        return f"{READ_FILES}DESCRIBE SELECT * FROM {format}.`{path}` shows their columns."
    return f"There is no database '{database_of(name)}'; SHOW DATABASES lists all."


def nearest_names_hint(kind: Kind, name: str, current: str, names: Iterable[str]) -> str:
    """Returns the hint with the nearest names, as they are written under the ``current`` database."""
    by_key = {seen_from(current, candidate).lower(): seen_from(current, candidate) for candidate in names}
    near = difflib.get_close_matches(seen_from(current, name).lower(), by_key, n=3)
    if near:
        return f"Did you mean {' or '.join(by_key[key] for key in near)}?"
    database = database_of(name)
    inside = "" if database == DEFAULT_DATABASE == current else f" IN {database}"
    return f"SHOW {_LISTS[kind]}{inside} lists all."


def function_not_found(name: str, names: Sequence[str]) -> AnalysisError:
    """Returns the error for a function that does not exist. ``names`` are the names of all functions."""
    by_key = {candidate.lower(): candidate for candidate in names}
    near = difflib.get_close_matches(name.lower(), by_key, n=3)
    return AnalysisError(
        f"the function '{name}' cannot be found",
        condition="ROUTINE_NOT_FOUND",
        sqlstate="42883",
        object=name,
        hint=f"Did you mean {' or '.join(by_key[key] for key in near)}?" if near else "Check its name and database.",
    )


def database_not_found(name: str, names: Sequence[str]) -> AnalysisError:
    """Returns the error for a database that does not exist. ``names`` are the names of all databases."""
    near = difflib.get_close_matches(name.lower(), names, n=3)
    return AnalysisError(
        f"the database '{name}' cannot be found",
        condition="SCHEMA_NOT_FOUND",
        sqlstate="42704",
        object=name,
        hint=f"Did you mean {' or '.join(near)}?" if near else "SHOW DATABASES lists all.",
    )
