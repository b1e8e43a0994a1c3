"""Transactions of several statements: START TRANSACTION, COMMIT, ROLLBACK."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewriter.grammar.statements import Statement, builds, renders
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from rewriter.grammar.statement_parts import Terminal

RULES = r"""
?statement: start_transaction | commit | rollback

start_transaction: START "TRANSACTION"
                 | "BEGIN" ("TRANSACTION" | "WORK")?
commit: "COMMIT" "WORK"?
rollback: "ROLLBACK" "WORK"?
"""


@dataclass(frozen=True, kw_only=True)
class StartTransaction(Statement):
    """``START TRANSACTION``, or ``BEGIN [TRANSACTION | WORK]``."""


@builds("start_transaction")
def start_transaction(start: Terminal | None = None) -> StartTransaction:
    return StartTransaction()


@renders(StartTransaction)
def start_transaction_text(_: StartTransaction) -> str:
    return "START TRANSACTION"


@dataclass(frozen=True, kw_only=True)
class Commit(Statement):
    """``COMMIT [WORK]``."""


@builds("commit")
def commit() -> Commit:
    return Commit()


@renders(Commit)
def commit_text(_: Commit) -> str:
    return "COMMIT"


@dataclass(frozen=True, kw_only=True)
class Rollback(Statement):
    """``ROLLBACK [WORK]``."""


@builds("rollback")
def rollback() -> Rollback:
    return Rollback()


@renders(Rollback)
def rollback_text(_: Rollback) -> str:
    return "ROLLBACK"
