"""The values of a partition column that begin with what is typed: few reads of an index, however many partitions.

The keys of partitions are in the order of their values, so each distinct value is one step: the next key behind all
keys that have it. Only partitions with the values of the columns in front are visited, if the text gives these.
"""

from __future__ import annotations

import calendar
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING

from rewriter.catalog.keys.encoding import (
    NOT_NULL,
    TOP,
    decode_value,
    encode_bytes,
    encode_value,
    prefix,
    split_key,
    width_of,
)
from rewriter.catalog.keys.values import coerce
from rewriter.catalog.model.key_ranges import KeyRange, successor
from rewriter.errors import Error, only_ours

if TYPE_CHECKING:
    from rewriter.catalog.catalog import Catalog
    from rewriter.catalog.model.objects import Column, Table
    from rewriter.catalog.reading.snapshot import Snapshot
    from rewriter.shell.completion.candidates import ValuesRequest

#: The most values of a column that are read.
_MOST_VALUES = 30
#: The most keys that are read for them: more only where a column behind the first is not determined.
_MOST_KEYS = 1_000
#: The keys of one read: values that have one partition each are neighbors.
_PAGE = 60
#: Seconds after which a read ends with the values that it has.
_LONGEST_READ = 0.01
#: The most requests whose values are kept until the next commit.
_MOST_KEPT = 64


_Key = tuple[int, str, tuple[tuple[str, str], ...], str]


class PartitionValuesReader:
    """Reads partition values with snapshots of its own. Threads may share it: while one reads, others get nothing."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._lock = threading.Lock()
        self._kept: OrderedDict[_Key, Sequence[str]] = OrderedDict()
        #: The commit up to which the kept values are the catalog's values.
        self._sequence = -1

    def __call__(self, request: ValuesRequest) -> Sequence[str]:
        """Returns the values in the order of the keys; none where the catalog cannot be read, or is slow."""
        if not self._lock.acquire(timeout=_LONGEST_READ):
            return ()
        try:
            with only_ours():
                return self._values(request)
        except Error:
            return ()
        finally:
            self._lock.release()

    def _values(self, request: ValuesRequest) -> Sequence[str]:
        snapshot = self._catalog.snapshot()
        if snapshot.sequence != self._sequence:
            self._kept.clear()
            self._sequence = snapshot.sequence
        key = (request.table.id, request.column.lower(), request.given, request.typed)
        if key in self._kept:
            return self._kept[key]
        deadline = time.monotonic() + _LONGEST_READ
        values = tuple(_values_of(snapshot, request, deadline))
        if time.monotonic() <= deadline:  # Otherwise some may be missing.
            self._kept[key] = values
            if len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        return values


def _values_of(snapshot: Snapshot, request: ValuesRequest, deadline: float) -> list[str]:
    """Returns at most ``_MOST_VALUES`` values of a request, the values that were read before the deadline (of
    ``time.monotonic``). Raises the errors of reads.
    """
    table = request.table
    columns = table.partition_columns
    number = next((i for i, column in enumerate(columns) if column.name.lower() == request.column.lower()), None)
    if number is None:
        return []
    given = _given_values(columns, request.given)
    leading = b""
    depth = 0
    while depth < number and columns[depth].name.lower() in given:
        leading += encode_value(columns[depth].type, given[columns[depth].name.lower()])
        depth += 1
    start = prefix(table.id) + leading
    found: dict[str, None] = {}
    if depth == number:
        for field_range in _field_ranges(columns[number].type, request.typed):
            key_range = KeyRange(start + field_range.start, start + field_range.end)
            for value in _distinct(snapshot, table, number, key_range, deadline, found):
                if value.lower().startswith(request.typed.lower()):
                    found[value] = None
                if len(found) >= _MOST_VALUES:
                    return list(found)
        return list(found)
    return _values_in_first(snapshot, table, number, start, given, request.typed.lower(), deadline)


def _values_in_first(
    snapshot: Snapshot,
    table: Table,
    number: int,
    start: bytes,
    given: Mapping[str, str | None],
    typed: str,
    deadline: float,
) -> list[str]:
    """Returns values of a column behind one that is open: those in the first partitions, which need no scan."""
    columns = table.partition_columns
    widths = [width_of(column.type) for column in columns]
    fixed = [
        (place, encode_value(column.type, given[column.name.lower()]))
        for place, column in enumerate(columns)
        if column.name.lower() in given
    ]
    fields: dict[bytes, None] = {}
    keys = snapshot.lookup(table, None, [KeyRange.of_prefix(start)]).found_keys(_MOST_KEYS)
    for visited, key in enumerate(keys):
        if not visited % _PAGE and time.monotonic() > deadline:
            break
        parts = split_key(widths, key)
        if all(parts[place] == field for place, field in fixed):
            fields[parts[number]] = None
    values = (decode_value(columns[number].type, field) for field in sorted(fields))
    return [value for value in values if value is not None and value.lower().startswith(typed)][:_MOST_VALUES]


def _given_values(columns: Sequence[Column], given: Sequence[tuple[str, str]]) -> dict[str, str | None]:
    """Returns the values in canonical form, by column; values that are none of their type are left out."""
    by_name = {column.name.lower(): column for column in columns}
    values: dict[str, str | None] = {}
    for name, text in given:
        column = by_name.get(name.lower())
        if column is not None:
            try:
                values[column.name.lower()] = coerce(column, "string", text)
            except Error:
                continue
    return values


def _distinct(
    snapshot: Snapshot, table: Table, number: int, key_range: KeyRange, deadline: float, found: dict[str, None]
) -> Iterator[str]:
    """Yields the distinct values of a column in the keys of a range, which all have the same leading values."""
    column = table.partition_columns[number]
    widths = [width_of(partition_column.type) for partition_column in table.partition_columns]
    start, end = key_range.start, key_range.end
    size = 1
    reads = 0
    while start < end and len(found) < _MOST_VALUES and reads < 2 * _MOST_VALUES and time.monotonic() <= deadline:
        keys = list(snapshot.lookup(table, None, [KeyRange(start, end)]).found_keys(size))
        reads += 1
        fields: dict[bytes, None] = {}
        last = b""
        for key in keys:
            parts = split_key(widths, key)
            last = key[:9] + b"".join(parts[: number + 1])
            fields[parts[number]] = None
        for field in fields:
            value = decode_value(column.type, field)
            if value is not None:
                yield value
        if len(keys) < size:
            return
        # Values that have many partitions are found one by one; values that have one, page by page.
        size = min(_PAGE, size * 4) if len(fields) == len(keys) else 1
        start = successor(last)


def _field_ranges(type_: str, typed: str) -> list[KeyRange]:
    """Returns the ranges of the encoded values whose text begins with what is typed; all values for a type whose order
    is not the order of texts.
    """
    name = type_.partition("(")[0].lower()
    everything = [KeyRange(NOT_NULL, TOP)]
    if not typed:
        return everything
    if name in ("string", "varchar", "char"):
        low = encode_bytes(typed.encode())[:-1]
        return [KeyRange(low, successor(low))]
    if name == "date":
        return _date_range(typed[:10])
    if name == "timestamp":
        return _timestamp_range(typed[:10])
    if name in ("tinyint", "smallint", "int", "bigint"):
        return _number_ranges(type_, typed) or everything
    return everything


def _days(typed: str) -> tuple[date, date] | None:
    """Returns the first and the last day whose text begins so; ``None`` if there is none."""
    years = ["0001", "9999"] if not typed else [(typed[:4] + pad * 4)[:4] for pad in "09"]
    days = [day for year in years for day in _days_of(year.replace("0000", "0001")) if day.startswith(typed)]
    if len(typed) < 4 and not days and typed.strip("0") == "":
        days = ["0001-01-01", "0999-12-31"]
    return (date.fromisoformat(days[0]), date.fromisoformat(days[-1])) if days else None


def _days_of(year: str) -> list[str]:
    """Returns the texts of the days of a year."""
    if not (year.isascii() and year.isdigit()):
        return []
    first = date(int(year), 1, 1)
    return [(first + timedelta(days=day)).isoformat() for day in range(366 if calendar.isleap(int(year)) else 365)]


def _date_range(typed: str) -> list[KeyRange]:
    days = _days(typed)
    if days is None:
        return []
    return [KeyRange(encode_value("date", days[0].isoformat()), successor(encode_value("date", days[1].isoformat())))]


def _timestamp_range(typed: str) -> list[KeyRange]:
    days = _days(typed)
    if days is None:
        return []
    low = encode_value("timestamp", f"{days[0].isoformat()} 00:00:00")
    return [KeyRange(low, TOP)]


def _number_ranges(type_: str, typed: str) -> list[KeyRange]:
    """Returns the ranges of whole numbers whose digits begin so: for 20 the ranges 20, 200 to 209, 2000 to 2099, …"""
    digits = typed.removeprefix("-")
    if not digits.isascii() or not digits.isdigit():
        return []
    ranges: list[KeyRange] = []
    most = {"tinyint": 127, "smallint": 32767, "int": 2147483647}.get(type_.lower(), 9223372036854775807)
    low = high = int(digits)
    while low <= most:
        first, last = low, min(high, most)
        if typed.startswith("-"):
            first, last = -last, -first
        ranges.append(KeyRange(encode_value(type_, str(first)), successor(encode_value(type_, str(last)))))
        if low == 0:
            break
        low, high = low * 10, high * 10 + 9
    return ranges
