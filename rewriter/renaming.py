"""ALTER TABLE and ALTER VIEW … RENAME TO: another name, in the same database or another one; all else stays."""

from __future__ import annotations

from rewriter.catalog.changes import RenameObject
from rewriter.catalog.codec import kind_of
from rewriter.catalog.models import Table, View
from rewriter.catalog.names import database_of, seen_from
from rewriter.catalog.temporary import session_of, stored_name
from rewriter.context import Context, single
from rewriter.ddl import plain_name
from rewriter.errors import AnalysisError, Error, IntegrityError, ParseError
from rewriter.grammar import statements as s
from rewriter.result import Result


def rename(statement: s.Rename, context: Context) -> Result:
    """Partitions, files, properties and statistics stay with the table: they know it by its number.

    A new name without a database stays in that of the old one, as in Spark; a temporary table stays its session's.
    Raises TABLE_OR_VIEW_ALREADY_EXISTS, SCHEMA_NOT_FOUND for the new name's database, TABLE_IN_USE while a fact names
    the table, and ``ParseError`` for a temporary table that should get a database. Views that name it do so by name,
    and fail until something is called so again.
    """
    found = context.table(statement.name) if statement.kind == "TABLE" else _view(statement.name, context)
    session = session_of(found.name)
    name = _in_database(statement, found) if session is None else stored_name(_temporary(statement), session)
    taken = context.snapshot.named(name)
    if taken is not None and taken.id != found.id:
        raise IntegrityError(
            f"Cannot rename {found.name} to {name}: there is a {kind_of(taken)} called so.",
            condition="TABLE_OR_VIEW_ALREADY_EXISTS",
            sqlstate="42P07",
            position=statement.to.span,
            object=name,
            hint="Choose a different name, or drop that one first.",
        )
    fact = context.snapshot.fact_using(found.name) if isinstance(found, Table) else None
    if fact is not None:
        used, user = (seen_from(context.snapshot.current, one.name) for one in (found, fact))
        raise IntegrityError(
            f"The table {used} is used by the fact {user}, which knows it by its name.",
            condition="TABLE_IN_USE",
            position=statement.name.span,
            object=found.name,
            hint=f"SHOW CREATE FACT {user} shows how to make it anew: drop it, rename the table, and create it "
            "with the new name. The partitions stay.",
        )
    with context.catalog.begin(context.snapshot) as transaction:
        try:
            transaction.commit([RenameObject(found, name)])
        except Error as error:
            raise error.at(statement.to.span) from None
    return Result(f"ALTER {statement.kind} RENAME")


def _in_database(statement: s.Rename, found: Table | View) -> str:
    parts = statement.to.parts
    target = s.Name(parts if len(parts) > 1 else (database_of(found.name), *parts), statement.to.span)
    return plain_name(target, statement.kind.lower())


def _temporary(statement: s.Rename) -> str:
    """The new name of a temporary table, whose files end with the session: it cannot become a permanent one."""
    parts, span = statement.to.parts, statement.to.span
    if len(parts) > 1:
        raise ParseError(
            f"The temporary table {statement.name.last} is in no database.",
            position=span,
            object=statement.name.last,
            hint=f"Write RENAME TO {parts[-1]}; CREATE TABLE {'.'.join(parts)} AS SELECT * FROM "
            f"{statement.name.last} makes a table that stays.",
        )
    plain_name(s.Name(parts, span), "table")
    return parts[0]


def _view(name: s.Name, context: Context) -> View:
    found = context.named(name)
    if found is not None and not isinstance(found, View):
        kind = kind_of(found)
        raise AnalysisError(
            f"'{found.name}' is a {kind}, and ALTER VIEW expects a view.",
            condition="EXPECT_VIEW_NOT_TABLE.USE_ALTER_TABLE",
            sqlstate="42809",
            position=name.span,
            object=found.name,
            hint="Use ALTER TABLE instead." if kind == "table" else f"A {kind} keeps its name.",
        )
    try:
        return context.snapshot.view(single(name))
    except Error as error:
        raise error.at(name.span) from None
