"""The database of an object that a statement creates."""

from __future__ import annotations

from rewriter.catalog.model.qualified_names import database_of
from rewriter.errors import Error
from rewriter.grammar.families.cubes import CreateCube
from rewriter.grammar.families.facts import CreateFact
from rewriter.grammar.families.tables import CreateTable, CreateTableAs, CreateTableLike
from rewriter.grammar.families.views import CreateView
from rewriter.grammar.statements import Statement
from rewriter.runtime.statement_context import Context, single


def check_database(statement: Statement, context: Context) -> None:
    """Raises SCHEMA_NOT_FOUND for an object that is to be created in a missing database.

    This check runs before the warehouse is made for the object; afterwards it would be too late.
    """
    match statement:
        case CreateTable() | CreateTableAs() | CreateTableLike():
            name = statement.table
        case CreateView():
            name = statement.view
        case CreateCube() | CreateFact():
            name = statement.name
        case _:
            return
    try:
        context.snapshot.database(database_of(single(name)))
    except Error as error:
        raise error.at(name.span) from None
