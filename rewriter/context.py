"""What one statement runs with: one snapshot, one reading of the clock, the settings, and an engine on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from rewriter.catalog.models import Table
from rewriter.catalog.snapshot import Snapshot
from rewriter.catalog.store import Catalog
from rewriter.errors import AnalysisError, Error
from rewriter.exec.engine import Engine
from rewriter.grammar.statements import Name
from rewriter.planner.plan import Settings
from rewriter.settings import SessionSettings


@dataclass(frozen=True)
class Context:
    """One statement's surroundings. ``engine`` starts the engine when first called; ``serial`` numbers relations."""

    catalog: Catalog
    snapshot: Snapshot
    settings: SessionSettings
    planning: Settings
    engine: Callable[[], Engine]
    serial: Iterator[int]
    parameters: Mapping[str, object]

    def renewed(self) -> Context:
        """The same statement over the newest state; the present moment stays."""
        return replace(self, snapshot=self.catalog.snapshot())

    def table(self, name: Name) -> Table:
        """The table, or ``AnalysisError`` TABLE_OR_VIEW_NOT_FOUND at the name."""
        plain = single(name)
        try:
            return self.snapshot.table(plain)
        except Error as error:
            raise error.at(name.span) from None


def single(name: Name) -> str:
    """The name, which has one part, or ``default`` before it: there are no databases yet."""
    if len(name.parts) == 1 or [part.lower() for part in name.parts[:-1]] == ["default"]:
        return name.last
    raise AnalysisError(
        f"There is no database {'.'.join(name.parts[:-1])}: a warehouse has one space of names.",
        condition="SCHEMA_NOT_FOUND",
        sqlstate="42704",
        position=name.span,
        object=".".join(name.parts),
        hint=f"Write {name.last}.",
    )
