"""What a partition costs in a cover: one, or the mean bytes of its table and period (``semantics.md``, Covering)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from rewriter.planner.blocks import CatalogReader
from rewriter.timeline.calendars import Period

#: The name of a storage table, and one of its periods.
TablePeriod = tuple[str, Period]


@dataclass(frozen=True)
class Costs:
    """The cost of a partition of each (storage table, period), all in bytes or all one.

    ``by_bytes`` says that bytes were asked for; ``unknown`` names those that nobody counted: then each costs one.
    """

    by_bytes: bool = False
    known: Mapping[TablePeriod, int] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()

    def of(self, table: str, period: Period) -> int:
        """The cost of one partition, at least 1."""
        return max(1, self.known.get((table, period), 1))

    def described(self, cost: int) -> str:
        """A cover's cost in words; '' where partitions are counted, as by default."""
        if self.unknown:
            return f"partitions, because the bytes of {', '.join(self.unknown)} are not known"
        return f"about {cost:,} bytes" if self.by_bytes else ""


def costs(candidates: Iterable[TablePeriod], reader: CatalogReader, *, by_bytes: bool) -> Costs:
    """What the candidates' partitions cost. Candidates without partitions need not be given."""
    if not by_bytes:
        return Costs()
    found = {(table, period): reader.mean_bytes(table, period) for table, period in candidates}
    unknown = tuple(f"{table} {period.name}" for (table, period), size in found.items() if size is None)
    known = {pair: size for pair, size in found.items() if size is not None}
    return Costs(by_bytes, {} if unknown else known, unknown)
