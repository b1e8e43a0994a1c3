"""What one statement runs with: one snapshot, one reading of the clock, the settings, and an engine on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from rewriter.catalog import moves
from rewriter.catalog.codec import Object
from rewriter.catalog.models import Namespace, Table, View
from rewriter.catalog.names import CATALOG, DEFAULT_DATABASE, full_name
from rewriter.catalog.snapshot import Snapshot
from rewriter.catalog.store import Catalog
from rewriter.catalog.transaction import Writer
from rewriter.errors import AnalysisError, Error
from rewriter.exec.engine import Engine
from rewriter.grammar.statements import DatabaseName, Name
from rewriter.planner.plan import Settings
from rewriter.progress import Teller
from rewriter.settings import SessionSettings
from rewriter.temporaries import Temporaries
from rewriter.transactions import OpenTransaction, not_in_transaction


@dataclass(frozen=True)
class Context:
    """One statement's surroundings. ``engine`` starts the engine when first called; ``serial`` numbers relations;
    ``progress`` is told how far the statement is.
    """

    catalog: Catalog
    snapshot: Snapshot
    settings: SessionSettings
    planning: Settings
    engine: Callable[[], Engine]
    serial: Iterator[int]
    parameters: Mapping[str, object]
    temporaries: Temporaries
    progress: Teller = field(default_factory=Teller)
    transaction: OpenTransaction | None = None

    def begin(self) -> Writer:
        """The statement's transaction: its own, on its snapshot, or its part in the one that the session opened."""
        return self.catalog.begin(self.snapshot) if self.transaction is None else self.transaction.part()

    def require_transactional(self, table: Table) -> None:
        """``NotSupportedError`` NOT_IN_TRANSACTION where a transaction is open and the table's files would not wait."""
        if self.transaction is not None and table.external:
            raise not_in_transaction(f"The files of the external table {table.name} move at once", table.name)

    def renewed(self) -> Context:
        """The same statement over the newest state; the present moment stays."""
        return replace(self, snapshot=self.catalog.snapshot(self.snapshot.session).within(self.snapshot.current))

    def table(self, name: Name) -> Table:
        """The table, or ``AnalysisError`` TABLE_OR_VIEW_NOT_FOUND at the name.

        Directories of an external table that a killed statement left half moved are where they belong after that.
        """
        plain = single(name)
        temporary = self.snapshot.temporary(plain) if len(name.parts) == 1 else None
        if temporary is not None:
            return temporary
        try:
            table = self.snapshot.table(plain)
            moves.finish(self.catalog, table)
            return table
        except Error as error:
            raise error.at(name.span) from None

    def is_temporary(self, name: str) -> bool:
        """Whether a name without a database is that of a temporary table of the session's."""
        return self.snapshot.temporary(name) is not None

    def view(self, name: Name) -> View:
        """The view, or ``AnalysisError`` VIEW_NOT_FOUND at the name."""
        found = self.named(name)
        try:
            return self.snapshot.view(single(name) if found is None else found.name)
        except Error as error:
            raise error.at(name.span) from None

    def database(self, name: DatabaseName | None) -> Namespace:
        """The database, the current one where none is named, or ``AnalysisError`` SCHEMA_NOT_FOUND at the name."""
        try:
            return self.snapshot.database(self.snapshot.current if name is None else name.text)
        except Error as error:
            if name is None:
                error.hint = f"It is the current database, and was dropped: USE {DEFAULT_DATABASE}, or another one."
                raise
            raise error.at(name.span) from None

    def named(self, name: Name) -> Object | None:
        """Whatever a name means, the session's temporary table first; ``None`` where there is nothing of that name."""
        plain = single(name)
        temporary = self.snapshot.temporary(plain) if len(name.parts) == 1 else None
        return temporary or self.snapshot.named(plain)


def single(name: Name) -> str:
    """The parts as the one text under which the catalog knows the object (``catalog.names``).

    A statement's names have their database by now where another one than ``default`` is current
    (``grammar.qualifying``), so a single part is a name in ``default``. Raises ``AnalysisError`` for what is no name.
    """
    parts = name.parts[1:] if len(name.parts) == 3 and name.parts[0].lower() == CATALOG else name.parts
    if len(parts) > 2:
        raise AnalysisError(
            f"{CATALOG} requires a single-part namespace, but got {'.'.join(parts[:-1])}.",
            condition="REQUIRES_SINGLE_PART_NAMESPACE",
            sqlstate="42K05",
            position=name.span,
            object=".".join(parts),
            hint=f"There is one catalog: write database.{name.last}, or {CATALOG}.database.{name.last}.",
        )
    for part in parts:
        if "." in part:
            raise AnalysisError(
                f"'{part}' is no name: a point stands between a database and a name in it.",
                condition="INVALID_SCHEMA_OR_RELATION_NAME",
                sqlstate="42602",
                position=name.span,
                object=part,
                hint="Names are letters, digits and underscores; quote each part by itself: `database`.`name`.",
            )
    return full_name(parts[0] if len(parts) == 2 else DEFAULT_DATABASE, parts[-1])
