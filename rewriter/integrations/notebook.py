"""The extension of IPython: ``%load_ext rewriter``. The only module that imports IPython.

``%rewriter DIRECTORY`` opens a warehouse, and cells that begin with ``%%rewriter`` are its statements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from IPython.core.completer import CompletionContext, SimpleCompletion, context_matcher
from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring
from IPython.display import display

from rewriter.dbapi.connection import Connection, connect
from rewriter.errors import Error, render
from rewriter.grammar.lexer import split_statements
from rewriter.shell.completion.candidates import complete
from rewriter.shell.completion.partition_values import PartitionValuesReader
from rewriter.shell.completion.refresher import Refresher, SessionNames

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from rewriter.dbapi.cursor import Cursor

_CELL = "%%rewriter"


@magics_class
class RewriterMagics(Magics):
    """``%rewriter`` and ``%%rewriter``. ``connection`` is the connection of the cells that name none."""

    def __init__(self, shell: InteractiveShell) -> None:
        super().__init__(shell)
        self.connection: Connection | None = None
        self._names: tuple[Connection, Refresher] | None = None

    def names(self) -> Refresher:
        """Returns what reads the names for completion under the connection, which must be there."""
        assert self.connection is not None
        if self._names is None or self._names[0] is not self.connection:
            self._names = self.connection, Refresher(self.connection.session.catalog)
        self._names[1].note(SessionNames.of(self.connection.session))
        return self._names[1]

    @magic_arguments()
    @argument("connection", nargs="?", help="a variable with a connection, or the directory of a warehouse")
    @argument("-e", "--engine", help="spark or duckdb, to open a warehouse")
    @argument("-c", "--catalog", help="the URL of the PostgreSQL database with the catalog of the warehouse")
    @argument("-o", "--out", help="the variable that gets the cursor of the last statement")
    @line_cell_magic
    def rewriter(self, line: str, cell: str | None = None) -> Cursor | None:
        """Executes the statements of a cell, or chooses the connection of later cells.

        %rewriter flights --engine duckdb        opens the warehouse in the directory flights
        %rewriter connection                     takes the variable connection

        %%rewriter
        SELECT carrier, COUNT(*) AS n FROM flights GROUP BY carrier

        The result of the last statement is the result of the cell, and those before it are displayed.
        """
        arguments = parse_argstring(self.rewriter, line)
        if arguments.connection is not None:
            self.connection = self._chosen(arguments.connection, arguments.engine, arguments.catalog)
        if cell is None:
            return None
        if self.connection is None:
            raise UsageError("There is no connection. Write %rewriter DIRECTORY, or %rewriter VARIABLE.")
        cursor = None
        try:
            statements = [cell[span.start : span.end] for span in split_statements(cell)]
        except Error as error:
            raise UsageError(render(error, cell)) from None
        for statement in statements:
            if cursor is not None:
                display(cursor)
            try:
                cursor = self.connection.execute(statement)
            except Error as error:
                raise UsageError(render(error, statement)) from None
        if arguments.out is not None and self.shell is not None:
            self.shell.user_ns[arguments.out] = cursor
            return None
        return cursor

    def _chosen(self, name: str, engine: str, catalog: str | None) -> Connection:
        variable = self.shell.user_ns.get(name) if self.shell is not None else None
        if isinstance(variable, Connection):
            return variable
        try:
            return connect(name, engine=engine, catalog=catalog)
        except Error as error:
            raise UsageError(str(error)) from None


def load(shell: InteractiveShell) -> None:
    """Registers the magics, and the completion of names in their cells."""
    magics = RewriterMagics(shell)
    shell.register_magics(magics)

    @context_matcher()
    def names(context: CompletionContext) -> Any:
        is_ours = context.full_text.lstrip().startswith(_CELL) and context.cursor_line > 0
        if not is_ours or magics.connection is None:
            return {"completions": []}
        # Lines are the cell's lines, without its first one, which is the magic's own.
        lines = context.full_text.split("\n")[1:]
        before = [*lines[: context.cursor_line - 1], context.text_until_cursor.rpartition("\n")[2]]
        text, cursor = "\n".join(lines), len("\n".join(before))
        refresher = magics.names()
        if not refresher.step():
            return {"completions": []}
        candidates = complete(text, cursor, refresher.names, PartitionValuesReader(magics.connection.session.catalog))
        start = cursor + candidates[0].start_offset if candidates else cursor
        return {
            "completions": [SimpleCompletion(text=candidate.text) for candidate in candidates],
            "matched_fragment": text[start:cursor],
            "suppress": bool(candidates),
        }

    shell.Completer.custom_matchers.append(names)
