"""Objects of statements where there may be no warehouse."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewriter.catalog.model.objects import database_of
from rewriter.catalog.model.stored_paths import READ_FILES
from rewriter.errors import Error
from rewriter.grammar.families.cube_from import CreateCubeFrom
from rewriter.grammar.families.cubes import CreateCube
from rewriter.grammar.families.facts import CreateFact
from rewriter.grammar.families.tables import CreateTable, CreateTableAs, CreateTableLike
from rewriter.grammar.families.views import CreateView
from rewriter.runtime.statement_context import Context, single

if TYPE_CHECKING:
    from rewriter.grammar.statements import Statement

#: Errors of objects that are not in the catalog.
_NOT_FOUND = ("TABLE_OR_VIEW_NOT_FOUND", "VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND", "CUBE_NOT_FOUND", "FACT_NOT_FOUND")


def lacks_object(error: Error) -> bool:
    """Returns whether an error is about an object that a catalog would have; not for a name that is a path of files."""
    return error.condition in _NOT_FOUND and not (error.hint or "").startswith(READ_FILES)


def check_database(statement: Statement, context: Context) -> None:
    """Raises SCHEMA_NOT_FOUND for an object that is to be created in a missing database.

    This check runs before the warehouse is made for the object; afterwards it would be too late.
    """
    match statement:
        case CreateTable() | CreateTableAs() | CreateTableLike():
            name = statement.table
        case CreateView():
            name = statement.view
        case CreateCube() | CreateCubeFrom() | CreateFact():
            name = statement.name
        case _:
            return
    try:
        context.snapshot.database(database_of(single(name)))
    except Error as error:
        raise error.at(name.span) from None
