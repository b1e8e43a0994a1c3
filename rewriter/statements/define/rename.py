"""ALTER TABLE and ALTER VIEW … RENAME TO: another name, in the same database or another one; all else stays."""

from __future__ import annotations

from rewriter.catalog.model.changes import RenameObject
from rewriter.catalog.model.json_codec import kind_of
from rewriter.catalog.model.objects import Table, View, database_of, seen_from
from rewriter.catalog.model.temporary_views import TemporaryView, session_of, stored_name
from rewriter.errors import AnalysisError, Error, IntegrityError, ParseError
from rewriter.grammar.families import tables as s
from rewriter.grammar.terms import Name
from rewriter.runtime.result import Result
from rewriter.runtime.statement_context import Context, single
from rewriter.runtime.statement_runners import runs
from rewriter.statements.define.tables import plain_name
from rewriter.statements.define.views import rename_temporary_view


@runs(s.Rename)
def rename(statement: s.Rename, context: Context) -> Result:
    """Renames a table or view. Partitions, files, properties and statistics stay with the table, because they refer to
    its id.

    A new name without a database stays in the database of the old one, as in Spark; a temporary table stays in its
    session. Raises TABLE_OR_VIEW_ALREADY_EXISTS, SCHEMA_NOT_FOUND for the new name's database, TABLE_IN_USE while a
    fact names the table, and ``ParseError`` for a temporary table with a new name in a database. Views that read it
    refer to it by name, and fail until an object has that name again.
    """
    renamed = context.table(statement.name) if statement.kind == "TABLE" else _view(statement.name, context)
    if isinstance(renamed, TemporaryView):
        rename_temporary_view(renamed, statement, context)
        return Result("ALTER VIEW RENAME")
    session = session_of(renamed.name)
    name = _in_database(statement, renamed) if session is None else stored_name(_temporary(statement), session)
    existing = context.snapshot.named(name)
    if existing is not None and existing.id != renamed.id:
        raise IntegrityError(
            f"Cannot rename {renamed.name} to {name}: a {kind_of(existing)} with this name exists.",
            condition="TABLE_OR_VIEW_ALREADY_EXISTS",
            sqlstate="42P07",
            position=statement.to.span,
            object=name,
            hint="Choose a different name, or drop that one first.",
        )
    fact = context.snapshot.fact_using(renamed.name) if isinstance(renamed, Table) else None
    if fact is not None:
        fact_name, object_name = (seen_from(context.snapshot.current, object_.name) for object_ in (renamed, fact))
        raise IntegrityError(
            f"The table {fact_name} is used by the fact {object_name}, which refers to it by name.",
            condition="TABLE_IN_USE",
            position=statement.name.span,
            object=renamed.name,
            hint=f"SHOW CREATE FACT {object_name} shows its definition: drop the fact, rename the table, and "
            "create the fact with the new table name. The partitions remain.",
        )
    with context.catalog.begin(context.snapshot) as transaction:
        try:
            transaction.commit([RenameObject(renamed, name)])
        except Error as error:
            raise error.at(statement.to.span) from None
    return Result(f"ALTER {statement.kind} RENAME")


def _in_database(statement: s.Rename, object_: Table | View) -> str:
    parts = statement.to.parts
    target = Name(parts if len(parts) > 1 else (database_of(object_.name), *parts), statement.to.span)
    return plain_name(target, statement.kind.lower())


def _temporary(statement: s.Rename) -> str:
    """Returns the new name of a temporary table, whose files end with the session: it cannot become permanent."""
    parts, span = statement.to.parts, statement.to.span
    if len(parts) > 1:
        raise ParseError(
            f"The temporary table {statement.name.last} cannot be moved into a database.",
            position=span,
            object=statement.name.last,
            hint=f"Write RENAME TO {parts[-1]}; CREATE TABLE {'.'.join(parts)} AS SELECT * FROM "
            f"{statement.name.last} creates a permanent table.",
        )
    plain_name(Name(parts, span), "table")
    return parts[0]


def _view(name: Name, context: Context) -> View:
    view = context.named(name)
    if isinstance(view, TemporaryView):
        return view
    if view is not None and not isinstance(view, View):
        kind = kind_of(view)
        raise AnalysisError(
            f"'{view.name}' is a {kind}, but ALTER VIEW expects a view.",
            condition="EXPECT_VIEW_NOT_TABLE.USE_ALTER_TABLE",
            sqlstate="42809",
            position=name.span,
            object=view.name,
            hint="Use ALTER TABLE instead." if kind == "table" else f"A {kind} cannot be renamed.",
        )
    try:
        return context.snapshot.view(single(name))
    except Error as error:
        raise error.at(name.span) from None
