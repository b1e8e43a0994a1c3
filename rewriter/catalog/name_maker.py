"""Names of many partitions of one table, made of their keys in key order, where neighbours share leading values."""

from __future__ import annotations

from collections.abc import Sequence

from rewriter.catalog import keys
from rewriter.catalog.models import Column
from rewriter.catalog.values import partition_name

#: How many levels (``hr=5``) of each column are remembered at most.
REMEMBERED = 10_000


class NameMaker:
    """Makes names like ``c=US/d=1``. Right in any order of keys, quick in theirs: O(the last value) a name then."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self._columns = tuple(columns)
        self._widths = [keys.width_of(column.type) for column in columns]
        self._levels: list[dict[bytes, str]] = [{} for _ in columns]
        #: The bytes before the last field of the newest key that was split (none is a prefix of a key), and their name.
        self._head, self._leading = b"\xff", ""

    def name_of(self, key: bytes) -> str:
        """The name of the partition with this key."""
        if key.startswith(self._head):
            # No field is a prefix of another one: what follows the same leading fields is the last field.
            last = self._levels[-1].get(key[len(self._head) :])
            if last is not None:
                return self._leading + last
        fields = keys.split(self._widths, key)
        levels = [self._level(place, field) for place, field in enumerate(fields)]
        if fields:
            self._head = key[: len(key) - len(fields[-1])]
            self._leading = "".join(f"{level}/" for level in levels[:-1])
        return "/".join(levels)

    def _level(self, place: int, field: bytes) -> str:
        known = self._levels[place]
        found = known.get(field)
        if found is None:
            column = self._columns[place]
            found = partition_name((column,), (keys.decode_value(column.type, field),))
            if len(known) >= REMEMBERED:
                known.clear()
            known[field] = found
        return found
