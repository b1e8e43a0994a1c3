"""How many bytes a period of a storage table takes, on average: what ``SET rewriter.cover_cost = bytes`` goes by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from threading import Lock

from rewriter.catalog.binding import Slot, TimeBinding
from rewriter.catalog.models import Partition
from rewriter.catalog.writeids import ValidWriteIdList
from rewriter.timeline.calendars import Period

#: By period: bytes, rounded up; ``None`` where they are not known.
Volumes = Mapping[Period, int | None]


def mean_bytes(binding: TimeBinding, partitions: Iterable[Partition]) -> Volumes:
    """The mean bytes of one period, of all its partitions together, for each period that the table has any of.

    Nothing is known of external tables, whose files nobody counts, and of a period with a partition that was
    registered without statistics. The partition of NULL time does not count. ``partitions`` are all of the table.
    """
    total: dict[Period, int] = {}
    slots: dict[Period, set[Slot]] = {}
    unknown: set[Period] = set()
    for partition in partitions:
        slot = binding.locate(partition.values)
        if slot is None:
            continue
        total[slot.period] = total.get(slot.period, 0) + partition.bytes
        slots.setdefault(slot.period, set()).add(slot)
        if partition.rows is None:
            unknown.add(slot.period)
    return {
        period: None if period in unknown else -(-total[period] // len(found))
        for period, found in sorted(slots.items())
    }


#: How many answers are kept; those of dropped tables go when others come.
MOST_KEPT = 10_000


class VolumeCache:
    """The newest answer for each (fact, table), kept while no write to the table has become visible. Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: dict[tuple[int, int], tuple[ValidWriteIdList, Volumes]] = {}

    def get(self, binding: TimeBinding, ids: ValidWriteIdList) -> Volumes | None:
        """What was put under an equal list; ``None`` where there is nothing."""
        with self._lock:
            kept = self._kept.get((binding.fact.id, binding.table.id))
        return kept[1] if kept is not None and kept[0] == ids else None

    def put(self, binding: TimeBinding, ids: ValidWriteIdList, volumes: Volumes) -> None:
        """Replaces what was kept of the table. Where there are too many, the one that was put first goes."""
        key = binding.fact.id, binding.table.id
        with self._lock:
            self._kept.pop(key, None)
            self._kept[key] = ids, volumes
            while len(self._kept) > MOST_KEPT:
                del self._kept[next(iter(self._kept))]
