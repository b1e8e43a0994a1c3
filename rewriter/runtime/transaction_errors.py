"""The errors of transactions of several statements."""

from __future__ import annotations

from rewriter.errors import NotSupportedError, ProgrammingError


def not_in_transaction(reason: str, object: str | None = None) -> NotSupportedError:
    """Returns the error for work that cannot wait for a COMMIT."""
    return NotSupportedError(
        f"{reason}, so it cannot be part of a transaction of several statements.",
        condition="NOT_IN_TRANSACTION",
        sqlstate="25001",
        object=object,
        hint="COMMIT or ROLLBACK first. Outside a transaction, the statement commits automatically.",
    )


def already_open() -> ProgrammingError:
    """Returns the error of START TRANSACTION within a transaction."""
    return ProgrammingError(
        "A transaction is open already, and transactions do not nest.",
        condition="TRANSACTION_ALREADY_OPEN",
        sqlstate="25001",
        hint="COMMIT or ROLLBACK it first.",
    )


def pending_changes() -> ProgrammingError:
    """Returns the error of a change of ``autocommit`` while changes wait for a commit."""
    return ProgrammingError(
        "Changes wait for a commit, so autocommit cannot be changed now.",
        condition="TRANSACTION_ALREADY_OPEN",
        sqlstate="25001",
        hint="Call commit() or rollback() first.",
    )


def none_open(statement: str) -> ProgrammingError:
    """Returns the error of COMMIT and ROLLBACK without a transaction."""
    return ProgrammingError(
        f"There is no open transaction to {statement}: a statement outside a transaction commits automatically.",
        condition="NO_OPEN_TRANSACTION",
        sqlstate="25P01",
        hint="START TRANSACTION opens one.",
    )


def not_committed() -> ProgrammingError:
    """Returns the error of a script that ends within a transaction, which leaves nothing then."""
    return ProgrammingError(
        "The statements end without COMMIT: their changes since START TRANSACTION are rolled back.",
        condition="TRANSACTION_NOT_COMMITTED",
        sqlstate="25000",
        hint="Add COMMIT at the end, or ROLLBACK to discard the changes.",
    )
