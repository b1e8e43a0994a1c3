"""The cost of a partition in a cover: one, or the mean bytes of its table and period (``semantics.md``, Covering)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from rewriter.planner.scope.blocks import CatalogReader
from rewriter.timeline.calendars import Period

#: The name of a storage table, and one of its periods.
TablePeriod = tuple[str, Period]


@dataclass(frozen=True)
class Costs:
    """The cost of a partition of each (storage table, period): all in bytes, or all one.

    ``by_bytes`` says that bytes were requested. ``unknown_sizes`` names the (table, period) pairs whose bytes are
    unknown. If there are any, each partition costs one.

    >>> from rewriter.timeline.periods import UpdatePeriod
    >>> daily = ("sales_daily", UpdatePeriod.DAILY)
    >>> bytes_of = Costs(by_bytes=True, bytes_by_period={daily: 4096})
    >>> bytes_of.of_partition(*daily), Costs().of_partition(*daily)
    (4096, 1)
    >>> bytes_of.described(8192)
    'about 8,192 bytes'
    """

    by_bytes: bool = False
    bytes_by_period: Mapping[TablePeriod, int] = field(default_factory=dict)
    unknown_sizes: tuple[str, ...] = ()

    def of_partition(self, table: str, period: Period) -> int:
        """Returns the cost of one partition, at least 1."""
        return max(1, self.bytes_by_period.get((table, period), 1))

    def described(self, cost: int) -> str:
        """Returns a cover's cost in words; '' if partitions are counted, which is the default."""
        if self.unknown_sizes:
            return f"partitions, because the bytes of {', '.join(self.unknown_sizes)} are unknown"
        return f"about {cost:,} bytes" if self.by_bytes else ""


def costs(candidates: Iterable[TablePeriod], reader: CatalogReader, *, by_bytes: bool) -> Costs:
    """Returns the costs of the candidates' partitions. Candidates without partitions can be omitted."""
    if not by_bytes:
        return Costs()
    sizes = {(table, period): reader.mean_bytes(table, period) for table, period in candidates}
    unknown_sizes = tuple(f"{table} {period.name}" for (table, period), size in sizes.items() if size is None)
    known_sizes = {pair: size for pair, size in sizes.items() if size is not None}
    return Costs(by_bytes, {} if unknown_sizes else known_sizes, unknown_sizes)
