"""The transaction that a session has open, if any.

With ``autocommit``, the default, START TRANSACTION opens one, and every other statement commits by itself. Without it,
the first statement opens one: statements that only read do so, too, and see one snapshot until the transaction ends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rewriter.errors import Error, NotSupportedError
from rewriter.grammar.families.transactions import Commit, Rollback, StartTransaction
from rewriter.runtime.result import Result
from rewriter.runtime.transaction_errors import already_open, none_open, not_in_transaction, pending_changes

if TYPE_CHECKING:
    from rewriter.grammar.statements import Statement
    from rewriter.runtime.multi_statement import OpenTransaction
    from rewriter.runtime.statement_runners import Runner


class SessionTransaction:
    """The open transaction, and who opened it. ``begin`` opens one over the newest state."""

    def __init__(self, begin: Callable[[], OpenTransaction]) -> None:
        self._begin = begin
        self._autocommit = True
        self._is_implicit = False
        self.opened: OpenTransaction | None = None

    @property
    def autocommit(self) -> bool:
        return self._autocommit

    @autocommit.setter
    def autocommit(self, value: bool) -> None:
        """Raises ``ProgrammingError`` TRANSACTION_ALREADY_OPEN while changes wait for a commit."""
        if self._is_implicit and not self._end_without_changes():
            raise pending_changes()
        self._autocommit = value

    def run(self, statement: StartTransaction | Commit | Rollback) -> Result:
        """Runs START TRANSACTION, COMMIT or ROLLBACK. The last two end the transaction even if they raise."""
        if isinstance(statement, StartTransaction):
            if self.opened is not None and not self._end_without_changes():
                raise already_open().at(statement.span)
            self._open(implicit=False)
            return Result("START TRANSACTION")
        word = "COMMIT" if isinstance(statement, Commit) else "ROLLBACK"
        transaction = self.take()
        if transaction is None:
            if self._autocommit:
                raise none_open(word).at(statement.span)
            return Result(word)
        try:
            (transaction.commit if isinstance(statement, Commit) else transaction.rollback)()
        except Error as error:
            raise error.at(statement.span) from None
        return Result(word)

    def prepare(self, statement: Statement, runner: Runner | None, exists: bool) -> None:
        """Opens a transaction for a statement if there is no autocommit and the warehouse exists.

        A statement that commits by itself ends an implicit transaction without changes. Raises
        ``NotSupportedError`` NOT_IN_TRANSACTION where it would be part of another one.
        """
        if runner is None:
            return
        if not runner.in_transaction:
            if self.opened is not None and not self._end_without_changes():
                raise not_in_transaction("This statement commits automatically").at(statement.span)
        elif not self._autocommit and self.opened is None and exists:
            self._open(implicit=True)

    def left_for(self, error: NotSupportedError) -> bool:
        """Returns whether a statement that raised may run again, outside of the transaction, which was implicit and
        had no changes.
        """
        return error.condition == "NOT_IN_TRANSACTION" and self._end_without_changes()

    def take(self) -> OpenTransaction | None:
        """Returns the open transaction, which the caller ends."""
        transaction, self.opened, self._is_implicit = self.opened, None, False
        return transaction

    def _open(self, implicit: bool) -> None:
        self.opened = self._begin()
        self._is_implicit = implicit

    def _end_without_changes(self) -> bool:
        """Ends an implicit transaction without changes, and returns whether it was one."""
        if self.opened is None or not self._is_implicit or self.opened.has_changes:
            return False
        transaction = self.opened
        self.take()
        transaction.rollback()
        return True
