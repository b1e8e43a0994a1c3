"""The records of the catalog that certificates rest on, read from its documented tables.

``docs/reference/catalog-schema.md`` describes these tables. A row is seen at a commit if that commit or an earlier one
made it, and none of them ended it.
"""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from functools import cached_property, lru_cache
from typing import Any, TypeVar

from rewriter.lazy_dataclass import dataclass


class FindingKind(Enum):
    """Why a certificate is not accepted: the evidence contradicts it, the checker does not know a part of it, or the
    catalog no longer shows the evidence.
    """

    REFUTED = "refuted"
    NOT_UNDERSTOOD = "not understood"
    OUT_OF_SIGHT = "out of sight"


@dataclass(frozen=True)
class Finding:
    """A reason why a certificate is not accepted. ``place`` names the reference, the piece or the words."""

    kind: FindingKind
    place: str
    text: str

    def __str__(self) -> str:
        return f"{self.place}: {self.text} [{self.kind.name}]"


@dataclass(frozen=True)
class Verdict:
    """The findings of a check. A certificate without any is accepted."""

    findings: tuple[Finding, ...]

    @property
    def is_accepted(self) -> bool:
        return not self.findings

    @property
    def is_refuted(self) -> bool:
        """True if the evidence contradicts the certificate."""
        return any(finding.kind is FindingKind.REFUTED for finding in self.findings)


class Unaccepted(Exception):
    """A rule does not accept a certificate."""

    kind: FindingKind


class Refuted(Unaccepted):
    """The evidence contradicts the certificate."""

    kind = FindingKind.REFUTED


class NotUnderstood(Unaccepted):
    """The certificate or its query has a part that the checker does not know."""

    kind = FindingKind.NOT_UNDERSTOOD


class OutOfSight(Unaccepted):
    """The catalog no longer shows what the certificate names."""

    kind = FindingKind.OUT_OF_SIGHT


#: The maximum number of versions of partitions that are kept for further certificates, beside those of the last read.
_MOST_VERSIONS = 200_000
#: The maximum number of texts and of pieces for which is kept what was read for them.
_MOST_KEPT = 64
#: Runs a SELECT with parameters ``:name`` on the catalog's database, and returns its rows.
Rows = Callable[[str, Mapping[str, object]], Sequence[Sequence[Any]]]

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")

#: ``ended`` of a row that nothing has ended.
_NEVER = 9223372036854775807
#: ``as_of`` of a partition that was registered empty: no event of its base.
REGISTERED = 0
#: The ``doubt`` of a partition that a stream fills, and of a rollup whose base was not whole when it was written.
OPEN = "a stream still fills it"
INCOMPLETE = "base periods inside it were missing when it was written"


@dataclass(frozen=True)
class Record:
    """A version of a partition. ``made`` and ``ended`` are numbers of commits; ``ended`` is ``None`` for the present.

    ``written`` is the commit of its content, ``as_of`` the commit up to which a rollup includes its base, ``doubt`` the
    reason why that is not proven. A ``tombstone`` was never seen: it tells that the partition has changed.
    """

    values: tuple[str | None, ...]
    rows: int | None
    as_of: int
    made: int | None
    ended: int | None
    written: int
    doubt: str | None
    origins: tuple[Mapping[str, Any], ...]
    tombstone: bool

    @cached_property
    def content(self) -> str:
        """Values, rows and commit, as a digest reads them."""
        return json.dumps([self.values, self.rows, self.written])

    def is_seen(self, commit: int) -> bool:
        """Tests whether a reader of a commit sees this version."""
        was_made = self.made is not None and self.made <= commit
        return was_made and not self.tombstone and (self.ended is None or self.ended > commit)


@dataclass(frozen=True)
class PieceContent:
    """The partitions that a commit saw in the periods of a piece, by their starts in the order of time."""

    by_start: Mapping[int, Sequence[Record]]

    @cached_property
    def records(self) -> Sequence[Record]:
        """The partitions, in this order."""
        return [record for of_period in self.by_start.values() for record in of_period]

    @cached_property
    def starts_of_values(self) -> Mapping[tuple[str | None, ...], int]:
        """The starts of the periods, by the values of the partitions."""
        return {record.values: start for start, records in self.by_start.items() for record in records}

    @cached_property
    def digest(self) -> str:
        """The digest of the partitions."""
        return digest(self.records)

    @cached_property
    def counts(self) -> Mapping[str, int | None]:
        """The counts that a certificate states."""
        records = self.records
        return {"periods": len(self.by_start), "partitions": len(records), "rows": count_rows(records)}


def digest(records: Iterable[Record]) -> str:
    """Returns 16 hexadecimal digits of SHA-256 over values, rows and commit of each partition, in the order of values.

    COMPACT and other partitions do not change it.
    """
    lines = sorted(record.content for record in records)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def count_rows(records: Sequence[Record]) -> int | None:
    """Returns the number of rows of partitions; ``None`` if that of one is unknown."""
    counts = [record.rows for record in records]
    return None if None in counts else sum(count or 0 for count in counts)


def keep(kept: dict[_Key, _Value], key: _Key, value: _Value) -> None:
    """Adds what was read for a text or a piece, in place of all others once there are many."""
    if len(kept) >= _MOST_KEPT:
        kept.clear()
    kept[key] = value


def _first_value(record: Record) -> str:
    return record.values[0] or ""


@lru_cache(maxsize=100_000)
def _values(text: str) -> tuple[str | None, ...]:
    return tuple(json.loads(text))


_OBJECTS = """
SELECT o.object_id, o.kind, o.name, o.definition, m.commit_seq, e.commit_seq, o.made, o.ended FROM objects AS o
LEFT JOIN write_ids AS m ON m.object_id = o.object_id AND m.write_id = o.made
LEFT JOIN write_ids AS e ON e.object_id = o.object_id AND e.write_id = o.ended
WHERE o.kind IN ('table', 'cube', 'fact', 'view')
"""
_PARTITIONS = """
SELECT p.partition_values, p.rows, p.as_of, m.commit_seq, e.commit_seq, p.commit_seq, p.doubt, p.origins,
  p.made, p.ended
FROM partitions AS p
LEFT JOIN write_ids AS m ON m.object_id = p.table_id AND m.write_id = p.made
LEFT JOIN write_ids AS e ON e.object_id = p.table_id AND e.write_id = p.ended
WHERE p.table_id = :table_id AND p.key >= :first AND p.key < :last
ORDER BY p.key
"""


@dataclass(frozen=True)
class Object:
    """A table, cube, fact or view as a commit saw it: ``definition`` is the JSON of the catalog."""

    id: int
    name: str
    definition: Mapping[str, Any]


class CatalogRecords:
    """The catalog as one commit saw it. No later commit changes that, so that it serves any number of certificates."""

    def __init__(self, rows: Rows, commit: int | None = None) -> None:
        """``commit`` is the newest one by default."""
        self._rows = rows
        self.commit = self.newest_commit if commit is None else commit
        self._versions: dict[tuple[int, str | None, str | None], list[Record]] = {}
        #: Of a fact, table, period and zone: a range of time, and the versions of partitions in it by their starts.
        self.located: dict[tuple[int, int, str, str], tuple[tuple[int, int], list[tuple[int, Record]]]] = {}
        #: Of a fact, table, period and ranges of its periods: the partitions in them, their rows and their digest.
        self.stated: dict[tuple[str, int, str, Any], tuple[Sequence[Record], int | None, str]] = {}
        #: Of a table and a period: the numbers of the periods that partitions name, by their values.
        self.ordinals: dict[tuple[int, str], dict[tuple[str | None, ...], int | None]] = {}
        #: Of a table: the typed values of its partitions, by their texts; and of an expression, what it makes of them.
        self.typed: dict[int, dict[tuple[str | None, ...], Mapping[str, Any]]] = {}
        self.computed: dict[tuple[int, Any], dict[tuple[str | None, ...], Any]] = {}
        #: Of a fact, table, period, zone and ranges of time, as a piece has them: its partitions.
        self.pieces: dict[tuple[int, int, str, str, Sequence[tuple[int, int]]], PieceContent] = {}
        #: Of a table and the text of a query over it: the partitions that it selects, with their typed values.
        self.selected: dict[tuple[int, str | None], Sequence[tuple[Record, Mapping[str, Any]]]] = {}
        #: Of a fact: its tables, as ``stored_tables`` reads them.
        self.stored_tables: dict[int, Sequence[Any]] = {}
        #: Rollups that hold their base: fact, table, period, zone, and values of the partition.
        self.checked_rollups: set[tuple[int, int, str, str, tuple[str | None, ...]]] = set()

    @cached_property
    def newest_commit(self) -> int:
        """Returns the number of the newest commit of the catalog."""
        return int(self._rows("SELECT value FROM counters WHERE name = 'commit'", {})[0][0])

    @cached_property
    def warehouse(self) -> str:
        """The identity of the warehouse."""
        return str(self._rows("SELECT identity FROM warehouse", {})[0][0] or "")

    @cached_property
    def unexamined(self) -> int:
        """The commit up to which an earlier release wrote rollups that count as proven."""
        rows = self._rows("SELECT value FROM counters WHERE name = 'trusted'", {})
        return int(rows[0][0]) if rows else 0

    @cached_property
    def _objects(self) -> Mapping[tuple[str, str], Object]:
        objects = {}
        for id, kind, name, definition, made, ended, made_by, ended_by in self._rows(_OBJECTS, {}):
            is_seen = made is not None and made <= self.commit and made_by != ended_by
            if is_seen and (ended_by == _NEVER or ended is None or ended > self.commit):
                # A damaged one is as one that is not there: what needs it is not accepted.
                with suppress(ValueError):
                    objects[kind, name.lower()] = Object(id, name, json.loads(definition))
        return objects

    def find(self, kind: str, name: str) -> Object | None:
        """Returns the ``table``, ``cube``, ``fact`` or ``view`` of a name, if the commit saw one."""
        return self._objects.get((kind, name.lower()))

    def table(self, id: int) -> Object | None:
        """Returns the table of an id, if the commit saw one."""
        tables = (item for (kind, _), item in self._objects.items() if kind == "table")
        return next((table for table in tables if table.id == id), None)

    def all_facts(self) -> list[Object]:
        """Returns the facts of all cubes."""
        return [fact for (kind, _), fact in self._objects.items() if kind == "fact"]

    def facts_of(self, cube: str) -> list[str]:
        """Returns the names of all facts of a cube, in order."""
        return sorted(
            fact.name
            for (kind, _), fact in self._objects.items()
            if kind == "fact" and fact.definition["cube"].lower() == cube.lower()
        )

    def tables_of(self, cube: str) -> set[str]:
        """Returns the names, in lower case, of all tables of all facts of a cube."""
        facts = [self._objects["fact", name.lower()] for name in self.facts_of(cube)]
        storages = [storage for fact in facts for storage in fact.definition["storages"]]
        return {str(table["table"]).lower() for _, tables, *_ in storages for table in tables}

    def has_cube_or_fact(self, name: str) -> bool:
        """Tests whether a cube or a fact of any database has a name, given without its database."""
        return any(kind in ("cube", "fact") and key.rpartition(".")[2] == name.lower() for kind, key in self._objects)

    def computed_by(self, table: Object, expression: Any) -> dict[tuple[str | None, ...], Any]:
        """Returns what an expression makes of the values of a table's partitions, as far as that was computed."""
        return self.computed.setdefault((table.id, expression), {})

    def versions(self, table: Object, first: str | None = None, last: str | None = None) -> list[Record]:
        """Returns all versions of a table's partitions. ``first`` and ``last`` bound the text in its first partition
        column, both included, to save reads. There may be more: what was read before is not read again.
        """
        for (id, low, high), versions in self._versions.items():
            is_after = low is None or (first is not None and low <= first)
            if id == table.id and is_after and (high is None or (last is not None and last <= high)):
                return versions
        versions = self._read_versions(table.id, first, last)
        self._versions[table.id, first, last] = versions
        if sum(map(len, self._versions.values())) > _MOST_VERSIONS:
            self._versions = {(table.id, first, last): versions}
            self.located.clear()
            self.ordinals.clear()
            self.typed.clear()
            self.computed.clear()
            self.selected.clear()
            self.pieces.clear()
            self.stated.clear()
            self.checked_rollups.clear()
        return versions

    def versions_in(self, table: Object, ranges: Sequence[tuple[str, str | None]]) -> Iterator[Record]:
        """Yields the versions whose first partition column lies in one of some ranges of texts, or of days."""
        type = table.definition["partition_columns"][0][1].lower()
        if ranges == [("", None)] or type not in ("string", "date"):
            yield from self.versions(table)
            return
        bounds = (ranges[0][0] or None, ranges[-1][1]) if ranges and type == "string" else (None, None)
        versions = self.versions(table, *bounds) if ranges else []
        for low, high in ranges:
            first = bisect_left(versions, low, key=_first_value)
            behind = len(versions) if high is None else bisect_right(versions, high, key=_first_value)
            yield from (version for version in versions[first:behind] if version.values[0] is not None)

    def _read_versions(self, table_id: int, first: str | None, last: str | None) -> list[Record]:
        prefix = b"\x01" + (table_id + (1 << 63)).to_bytes(8, "big")
        # The byte behind a text in a key is 00, and no byte of a later text is FF.
        low = prefix if first is None else prefix + b"\x01" + first.encode()
        high = prefix + (b"\xff" if last is None else b"\x01" + last.encode() + b"\xff")
        versions = self._rows(_PARTITIONS, {"table_id": table_id, "first": low, "last": high})
        return [
            Record(
                _values(values),
                rows,
                as_of,
                made,
                None if ended_by == _NEVER else ended,
                written,
                doubt,
                tuple(json.loads(origins)) if origins else (),
                made_by == ended_by,
            )
            for values, rows, as_of, made, ended, written, doubt, origins, made_by, ended_by in versions
        ]
