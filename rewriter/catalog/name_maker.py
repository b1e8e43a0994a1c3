"""Names of many partitions of one table, made of their keys in key order, where neighbours share leading values."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from rewriter.catalog import keys
from rewriter.catalog.models import Column
from rewriter.catalog.values import DEFAULT_PARTITION, escape

#: How many levels (``hr=5``) of each column are remembered at most.
REMEMBERED = 10_000


class NameMaker:
    """Makes names like ``c=US/d=1``: each level once, and the leading ones once for all keys that share them."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self._widths = [keys.width_of(column.type) for column in columns]
        self._levels = [_Levels(column) for column in columns]

    def names_of(self, found: Sequence[bytes]) -> list[str]:
        """The names of the partitions with these keys, which are in order."""
        if not self._levels:
            return [""] * len(found)
        names: list[str] = []
        last_level = self._levels[-1]
        while len(names) < len(found):
            key = found[len(names)]
            fields = keys.split(self._widths, key)
            head = key[: len(key) - len(fields[-1])]
            leading = "".join(f"{levels[field]}/" for levels, field in zip(self._levels, fields[:-1], strict=False))
            # No field is a prefix of another one: what follows the same leading fields is the last field.
            end, width = bisect_left(found, keys.successor(head), len(names)), len(head)
            names += [leading + last_level[one[width:]] for one in found[len(names) : end]]
        return names


class _Levels(dict[bytes, str]):
    """The levels of one column by field, made when first asked for."""

    def __init__(self, column: Column) -> None:
        super().__init__()
        self._type = column.type
        self._head = f"{escape(column.name)}="

    def __missing__(self, field: bytes) -> str:
        if len(self) >= REMEMBERED:
            self.clear()
        value = keys.decode_value(self._type, field)
        self[field] = level = self._head + (DEFAULT_PARTITION if value is None else escape(value))
        return level
