"""The average bytes of a period of a storage table, which ``SET rewriter.cover_cost = bytes`` uses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from threading import Lock
from typing import TYPE_CHECKING

from rewriter.timeline.calendars import Period

if TYPE_CHECKING:
    from rewriter.catalog.facts.time_binding import Slot, TimeBinding
    from rewriter.catalog.model.objects import Partition
    from rewriter.catalog.model.write_ids import ValidWriteIdList

#: By period: bytes, rounded up; ``None`` if unknown.
Volumes = Mapping[Period, int | None]


def _mean_bytes(binding: TimeBinding, partitions: Iterable[Partition]) -> Volumes:
    """Returns the mean bytes of one period, of all its partitions together, for each period of the table.

    They are unknown for external tables, whose files are not counted, and for a period with a partition that was
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
        period: None if period in unknown else -(-total[period] // len(period_slots))
        for period, period_slots in sorted(slots.items())
    }


#: The maximum number of results; newer results evict the results of dropped tables.
MAX_RESULTS = 10_000


class VolumeCache:
    """The newest result for each (fact, table), cached while no write to the table has become visible. Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._results: dict[tuple[int, int], tuple[ValidWriteIdList, Volumes]] = {}

    def of(self, binding: TimeBinding, ids: ValidWriteIdList, partitions: Callable[[], Iterable[Partition]]) -> Volumes:
        """Returns the result under a list; computes it from all partitions of the table if there is none."""
        volumes = self.get(binding, ids)
        if volumes is None:
            volumes = _mean_bytes(binding, partitions())
            self.put(binding, ids, volumes)
        return volumes

    def get(self, binding: TimeBinding, ids: ValidWriteIdList) -> Volumes | None:
        """Returns the result that was put under an equal list; ``None`` if there is none."""
        with self._lock:
            ids_and_volumes = self._results.get((binding.fact.id, binding.table.id))
        return ids_and_volumes[1] if ids_and_volumes is not None and ids_and_volumes[0] == ids else None

    def put(self, binding: TimeBinding, ids: ValidWriteIdList, volumes: Volumes) -> None:
        """Replaces the result of the table. If there are too many, the oldest one is removed."""
        key = binding.fact.id, binding.table.id
        with self._lock:
            self._results.pop(key, None)
            self._results[key] = ids, volumes
            while len(self._results) > MAX_RESULTS:
                del self._results[next(iter(self._results))]
