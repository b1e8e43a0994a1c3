"""The registry of the functions that run statements. Each function registers itself where it is defined.

Example, in a module of ``rewriter.statements``::

    @runs(s.DropView, in_transaction=True)
    def drop_view(statement: s.DropView, context: Context) -> Result: ...
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from rewriter.grammar.statements import Statement
from rewriter.runtime.result import Result
from rewriter.runtime.statement_context import Context

_Run = TypeVar("_Run", bound=Callable[[Any, Context], Result])


@dataclass(frozen=True)
class Runner:
    """The function that runs a kind of statement, and where the statement is allowed.

    ``in_transaction``: between START TRANSACTION and COMMIT, because it only reads, or hands over its changes to be
    committed with those of other statements. ``without_warehouse``: where the warehouse does not exist yet, because
    it makes one, or touches no object of it. ``reads_system_tables``: its names may be those of system tables.
    """

    run: Callable[[Any, Context], Result]
    in_transaction: bool
    without_warehouse: bool
    reads_system_tables: bool


RUNNERS: dict[type[Statement], Runner] = {}


def runs(
    kind: type[Statement],
    *,
    in_transaction: bool = False,
    without_warehouse: bool = False,
    reads_system_tables: bool = False,
) -> Callable[[_Run], _Run]:
    """Registers the decorated function as the one that runs a kind of statement. Raises ``ValueError`` for a second
    one.
    """

    def register(run: _Run) -> _Run:
        if kind in RUNNERS:
            raise ValueError(f"{kind.__name__} already has a runner: {RUNNERS[kind].run.__qualname__}")
        RUNNERS[kind] = Runner(run, in_transaction, without_warehouse, reads_system_tables)
        return run

    return register
