"""Names of many partitions of one table, made from their keys in key order, where neighbors share leading values."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rewriter.catalog.keys import encoding
from rewriter.catalog.keys.values import DEFAULT_PARTITION, escape
from rewriter.catalog.model.key_ranges import successor
from rewriter.catalog.model.stored_rows import reading_key

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Column

#: The maximum number of remembered levels (``hr=5``) of each column.
REMEMBERED = 10_000


class NameMaker:
    """Makes names like ``c=US/d=1``: each level once, and the leading ones once for all keys that share them."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self._widths = [encoding.width_of(column.type) for column in columns]
        self._levels = [_Levels(column) for column in columns]

    def names_of(self, keys: Sequence[bytes]) -> list[str]:
        """Returns the names of the partitions with these keys, which are in order."""
        if not self._levels:
            return [""] * len(keys)
        names: list[str] = []
        last_level = self._levels[-1]
        while len(names) < len(keys):
            key = keys[len(names)]
            with reading_key(key):
                fields = encoding.split_key(self._widths, key)
            head = key[: len(key) - len(fields[-1])]
            with reading_key(key):
                leading = "".join(f"{levels[field]}/" for levels, field in zip(self._levels, fields[:-1], strict=False))
            # No field is a prefix of another one, so the bytes after the shared leading fields are the last field.
            end, width = bisect_left(keys, successor(head), len(names)), len(head)
            with reading_key(key):
                names += [leading + last_level[key_in_run[width:]] for key_in_run in keys[len(names) : end]]
        return names


class _Levels(dict[bytes, str]):
    """The levels of one column by field, made on first use."""

    def __init__(self, column: Column) -> None:
        super().__init__()
        self._type = column.type
        self._head = f"{escape(column.name)}="

    def __missing__(self, field: bytes) -> str:
        if len(self) >= REMEMBERED:
            self.clear()
        value = encoding.decode_value(self._type, field)
        self[field] = level = self._head + (DEFAULT_PARTITION if value is None else escape(value))
        return level
