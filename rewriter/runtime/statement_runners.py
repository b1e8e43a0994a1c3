"""The registry of the functions that run statements. Each function registers itself where it is defined.

Example, in a module of ``rewriter.statements``::

    @runs(s.DropView, in_transaction=True)
    def drop_view(statement: s.DropView, context: Context) -> Result: ...
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from rewriter.errors import Error
from rewriter.lazy_dataclass import dataclass
from rewriter.runtime.result import Result
from rewriter.runtime.statement_context import Context

if TYPE_CHECKING:
    from rewriter.grammar.statements import Statement
    from rewriter.grammar.terms import Name

_Run = TypeVar("_Run", bound=Callable[[Any, Context], Result])


@dataclass(frozen=True)
class Runner:
    """The function that runs a kind of statement, and where the statement is allowed.

    ``in_transaction``: between START TRANSACTION and COMMIT, because it only reads, or hands over its changes to be
    committed with the changes of other statements. ``without_warehouse``: where the warehouse does not exist yet,
    because it makes one, or touches no object of it. ``reads_system_tables``: its names may be names of system tables.
    ``writes``: the tables that an engine writes for it, which it does on their primary cluster.
    """

    run: Callable[[Any, Context], Result]
    in_transaction: bool
    without_warehouse: bool
    reads_system_tables: bool
    writes: Callable[[Any], Iterable[Name]]

    def run_placed(self, statement: Statement, context: Context) -> Result:
        """Runs a statement on the primary cluster of the tables that it writes."""
        return self.run(statement, self.placed(statement, context))

    def placed(self, statement: Statement, context: Context) -> Context:
        """Returns the context on the primary cluster of the tables that the statement writes. Without clusters, returns
        it as it is. Raises as ``Context.writing`` does.
        """
        for name in self.writes(statement) if context.clusters else ():
            try:
                context = context.writing(context.table(name))
            except Error as error:
                raise error.at(name.span) from None
        return context


RUNNERS: dict[type[Statement], Runner] = {}


def runs(
    kind: type[Statement],
    *,
    in_transaction: bool = False,
    without_warehouse: bool = False,
    reads_system_tables: bool = False,
    writes: Callable[[Any], Iterable[Name]] = lambda _: (),
) -> Callable[[_Run], _Run]:
    """Registers the decorated function as the one that runs a kind of statement. Raises ``ValueError`` for a second
    one.
    """

    def register(run: _Run) -> _Run:
        if kind in RUNNERS:
            raise ValueError(f"{kind.__name__} already has a runner: {RUNNERS[kind].run.__qualname__}")
        RUNNERS[kind] = Runner(run, in_transaction, without_warehouse, reads_system_tables, writes)
        return run

    return register
