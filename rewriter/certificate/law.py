"""The law, as a program: decides whether a certificate shows that rollups hold what their base holds.

A certificate is accepted if all of this is so:

1. The pieces of each reference to a cube are disjoint. With the missing time they are the requested time.
2. Each piece consists of whole periods. For each one, the catalog had a partition at the commit, and their digest is
   the one that the certificate states. No stream still filled one of them.
3. A rollup includes the newest commit of each base partition in its time, its base had no hole, and nothing is in
   doubt. Otherwise it rests on a word (TRUSTED) that the certificate names.
4. The requested time is the one that the conditions of the query ask for. An open end is the end of what is stored.
5. Where a piece is no base, the query adds up measures only as their kind allows (SUM and COUNT by SUM, MIN by MIN, MAX
   by MAX), and its other parts use only what each piece has: dimensions, and time in units of whole periods.
6. The executed text is the user's text but for the listed edits. The cube's name is replaced by a union of queries that
   select exactly the partitions of the pieces, under the names of their columns; a count of events is the sum of the
   COUNT measure; an average is a sum by a sum.

Anything that the program does not understand, it does not accept: it says NOT_UNDERSTOOD. Where the evidence
contradicts the certificate it says REFUTED, and where the catalog no longer shows it, OUT_OF_SIGHT.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import Any

import sqlglot
from sqlglot import exp

from rewriter.certificate.evidence import INCOMPLETE, OPEN, REGISTERED, CatalogRecords, Object, Record, Rows, digest
from rewriter.certificate.partition_conditions import holds
from rewriter.certificate.periods import (
    FINEST_FIRST,
    FIRST,
    LAST,
    NESTS,
    Layout,
    NotUnderstood,
    Range,
    complement,
    difference,
    floor,
    following,
    intersection,
    read_time,
    starts,
    time_text,
    union,
)

FORMAT = "rewriter certificate 1"


class FindingKind(Enum):
    """What is wrong: the evidence contradicts the certificate, a part is unknown, or the catalog no longer shows it."""

    REFUTED = "refuted"
    NOT_UNDERSTOOD = "not understood"
    OUT_OF_SIGHT = "out of sight"


@dataclass(frozen=True)
class Finding:
    """Why a certificate is not accepted. ``place`` names the reference, the piece or the words."""

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


class _Refuted(Exception):
    pass


class _OutOfSight(Exception):
    pass


_KINDS = {
    _Refuted: FindingKind.REFUTED,
    NotUnderstood: FindingKind.NOT_UNDERSTOOD,
    _OutOfSight: FindingKind.OUT_OF_SIGHT,
}


def check(certificate: Mapping[str, Any], rows: Rows) -> Verdict:
    """Checks a certificate against the catalog that ``rows`` reads. Never raises for a certificate of any content."""
    findings: list[Finding] = []

    def passes(place: str, step: Callable[[], None]) -> bool:
        try:
            step()
        except tuple(_KINDS) as error:
            findings.append(Finding(_KINDS[type(error)], place, str(error)))
        except sqlglot.errors.SqlglotError:
            findings.append(Finding(FindingKind.NOT_UNDERSTOOD, place, "a text that cannot be read"))
        except (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError) as error:
            findings.append(Finding(FindingKind.NOT_UNDERSTOOD, place, f"{type(error).__name__}: {error}"))
        else:
            return True
        return False

    if passes("certificate", lambda: _check_frame(certificate)):
        catalog = CatalogRecords(rows, certificate["commit"])
        if catalog.newest_commit() < catalog.commit:
            findings.append(Finding(FindingKind.REFUTED, "certificate", "the catalog has no such commit yet"))
        references = [_Reference(certificate, stated, catalog) for stated in certificate["references"]]
        are_read = [passes(reference.place, reference.read_catalog) for reference in references]
        for reference in (reference for reference, is_read in zip(references, are_read, strict=True) if is_read):
            passes(reference.place, reference.check_ranges)
            for piece in reference.stated["pieces"]:
                name = f"{reference.place}, {piece.get('table')} {piece.get('period')}"
                passes(name, partial(reference.check_piece, piece))
            passes(reference.place, reference.check_open_ends)
            passes(reference.place, reference.check_query)
        passes("text", lambda: _check_edits(certificate, references))
    return Verdict(tuple(findings))


def _check_frame(certificate: Mapping[str, Any]) -> None:
    if certificate.get("format") != FORMAT:
        raise NotUnderstood(f"the format {certificate.get('format')!r}")
    if not certificate["references"]:
        raise NotUnderstood("the query names no cube")
    if certificate["parameters"]:
        raise NotUnderstood("parameters of the query")
    if not certificate["is_typed"]:
        raise NotUnderstood("a query over views, or one that its text repeats")
    if not isinstance(certificate["commit"], int):
        raise NotUnderstood(f"the commit {certificate['commit']!r}")


# -- 1 to 4: the catalog ----------------------------------------------------------------------------------------------


@dataclass
class _Stored:
    """A table of a fact: its layouts by period, and the versions of its partitions, by the start of their period."""

    table: Object
    fact: Object
    definition: Mapping[str, Any]
    columns: tuple[str, ...]
    layouts: Mapping[str, Layout]

    @property
    def name(self) -> str:
        return str(self.definition["table"]).lower()

    def other_values(self, record: Record, period: str) -> dict[str, str | None]:
        """Returns the values of the partition columns that name no time."""
        named = self.layouts[period].positions
        return {
            column.lower(): record.values[position]
            for position, column in enumerate(self.columns)
            if position not in named
        }


class _Reference:
    """One reference to a cube, as the certificate states it."""

    def __init__(self, certificate: Mapping[str, Any], stated: Mapping[str, Any], catalog: CatalogRecords) -> None:
        self.certificate, self.stated, self.catalog = certificate, stated, catalog
        self.zone: str = stated.get("zone") or "UTC"
        #: What findings call it: the cube, and where the query names it.
        self.place = f"{stated.get('cube')} at {stated.get('start')}"
        self.requested: list[Range] = []
        self.cube: Object | None = None
        #: By name of the table, in lower case: all tables of all facts of the cube that the pieces name.
        self.tables: dict[str, _Stored] = {}
        self.bases: dict[str, str] = {}
        self.selected: dict[tuple[str, str], set[tuple[str | None, ...]]] = {}

    def read_catalog(self) -> None:
        """Finds the cube, and the facts and tables of the pieces, as the commit saw them."""
        cube = self.catalog.find("cube", self.stated["cube"])
        if cube is None:
            raise _OutOfSight(f"the catalog has no cube {self.stated['cube']} at commit {self.catalog.commit}")
        self.cube = cube
        if (cube.definition.get("time_zone") or "UTC") != self.zone:
            raise _Refuted(f"the zone of the cube is {cube.definition.get('time_zone') or 'UTC'}")
        if len(cube.definition["times"]) != 1:
            raise NotUnderstood("a cube with several times")
        for name in sorted({piece["fact"] for piece in self.stated["pieces"]}):
            self._read_fact(name)
        self.requested = _ranges(self.stated["requested"])

    def _read_fact(self, name: str) -> None:
        fact = self.catalog.find("fact", name)
        if fact is None:
            raise _OutOfSight(f"the catalog has no fact {name} at commit {self.catalog.commit}")
        if fact.definition["cube"].lower() != self.stated["cube"].lower():
            raise _Refuted(f"{name} is a fact of {fact.definition['cube']}")
        for _, tables, *_ in fact.definition["storages"]:
            for definition in tables:
                table = self.catalog.find("table", definition["table"])
                if table is None:
                    raise _OutOfSight(f"the catalog has no table {definition['table']}")
                columns = tuple(column[0] for column in table.definition["partition_columns"])
                layouts = {one["period"]: Layout(one["period"], one["parts"], columns) for one in definition["layouts"]}
                self.tables[definition["table"].lower()] = _Stored(table, fact, definition, columns, layouts)
        periods = {period for stored in self._tables_of(fact) for period in stored.layouts}
        self.bases[fact.name.lower()] = min(periods, key=FINEST_FIRST.index)

    def _tables_of(self, fact: Object) -> list[_Stored]:
        return [stored for stored in self.tables.values() if stored.fact.name == fact.name]

    @property
    def is_rolled(self) -> bool:
        """True if a piece is no base, or the pieces come from several facts: the query must add up."""
        pieces = self.stated["pieces"]
        return len({piece["fact"] for piece in pieces}) > 1 or any(not self._is_base(piece) for piece in pieces)

    def _is_base(self, piece: Mapping[str, Any]) -> bool:
        return bool(piece["period"] == self.bases.get(piece["fact"].lower()))

    def check_ranges(self) -> None:
        """The pieces and the missing time are disjoint, and together they are the requested time."""
        missing, requested = self.stated["missing"], self.stated["requested"]
        covered: list[Range] = []
        for piece in [{"ranges": requested}, *self.stated["pieces"], {"ranges": missing, "table": "missing"}]:
            ranges = _ranges(piece["ranges"])
            if sum(end - start for start, end in ranges) != sum(end - start for start, end in union(ranges)):
                raise _Refuted(f"the ranges of {piece.get('table', 'the requested time')} overlap")
            if "table" not in piece:
                continue
            twice = intersection(covered, ranges)
            if twice:
                raise _Refuted(f"{_shown(twice)} is covered twice, the second time by {piece['table']}")
            covered = union([*covered, *ranges])
        wrong = difference(covered, self.requested), difference(self.requested, covered)
        for text, ranges in zip(("was not requested", "is neither covered nor missing"), wrong, strict=True):
            if ranges:
                raise _Refuted(f"{_shown(ranges)} {text}")
        if missing and not self.certificate["settings"]["partial_data"]:
            raise _Refuted("time is missing, and partial_data is off")

    def check_piece(self, piece: Mapping[str, Any]) -> None:
        """The partitions of a piece are there, with the content that the certificate states, and hold their base."""
        stored = self.tables[piece["table"].lower()]
        if stored.fact.name.lower() != piece["fact"].lower():
            raise _Refuted(f"{piece['table']} is no table of {piece['fact']}")
        if piece["period"] not in stored.layouts:
            raise _Refuted(f"{piece['table']} has no {piece['period']} partitions")
        if stored.table.definition["properties"].get("rewriter.partitions") == "discovered":
            raise NotUnderstood("partitions that the catalog does not list")
        if stored.definition["others"]:
            raise NotUnderstood("partitions of several times")
        seen = [record for record in self._versions(stored, piece) if record[1].is_seen(self.catalog.commit)]
        wanted = [start for range_ in _ranges(piece["ranges"]) for start in _starts(piece["period"], self.zone, range_)]
        by_start: dict[int, list[Record]] = {start: [] for start in wanted}
        for start, record in seen:
            if start in by_start:
                by_start[start].append(record)
        for start, records in by_start.items():
            self._check_presence(stored, piece, start, records)
        records = [record for of_period in by_start.values() for record in of_period]
        rows = None if any(record.rows is None for record in records) else sum(record.rows or 0 for record in records)
        for name, count in (("periods", len(wanted)), ("partitions", len(records)), ("rows", rows)):
            if count != piece[name]:
                raise _Refuted(f"it has {count} {name}, not {piece[name]}")
        if digest(records) != piece["digest"]:
            raise _Refuted("its partitions have another content than the certificate states")
        key = (stored.name, piece["period"])
        self.selected[key] = self.selected.get(key, set()) | {record.values for record in records}
        rests_on = self._rests_on(stored, piece, by_start)
        if rests_on != _words(piece["rests_on"]) or len(rests_on) != len(piece["rests_on"]):
            stated = ", ".join(sorted(map(" ".join, _words(piece["rests_on"])))) or "nothing"
            raise _Refuted(f"it rests on {', '.join(sorted(map(' '.join, rests_on)))}; the certificate names {stated}")

    def _versions(self, stored: _Stored, piece: Mapping[str, Any]) -> list[tuple[int, Record]]:
        """Returns all versions of the partitions around a piece, with the starts of their periods."""
        layout, ranges = stored.layouts[piece["period"]], _ranges(piece["ranges"])
        return self._located(stored, layout, (ranges[0][0], ranges[-1][1])) if ranges else []

    def _located(self, stored: _Stored, layout: Layout, range_: Range) -> list[tuple[int, Record]]:
        located = []
        for record in self.catalog.versions(stored.table, *layout.text_bounds(range_, self.zone)):
            start = layout.start(record.values, self.zone)
            if start is not None:
                located.append((start, record))
        return located

    def _check_presence(self, stored: _Stored, piece: Mapping[str, Any], start: int, records: Sequence[Record]) -> None:
        if not records:
            raise _Refuted(f"no partition was there for {time_text(start)} at commit {self.catalog.commit}")
        for record in records:
            if record.doubt == OPEN:
                raise _Refuted(f"a stream still filled the partition of {time_text(start)}")
        present = [stored.other_values(record, piece["period"]) for record in records]
        for name, wanted in stored.definition["complete"]:
            if wanted is not None and not set(wanted) <= {values[name.lower()] for values in present}:
                raise _Refuted(f"the period {time_text(start)} lacks values of {name}")
        if len(stored.definition["complete"]) > 1:
            raise NotUnderstood("COMPLETE WITH of several columns")

    def _rests_on(
        self, stored: _Stored, piece: Mapping[str, Any], by_start: Mapping[int, Sequence[Record]]
    ) -> frozenset[tuple[str, ...]]:
        rests_on = {
            (origin["kind"], origin["table"])
            for records in by_start.values()
            for record in records
            for origin in self._named_origins(record)
        }
        if stored.table.definition["external"]:
            rests_on.add(("external", stored.name))
        if self._is_base(piece):
            return frozenset({("base",), *rests_on})
        if stored.definition["trusted"]:
            return frozenset({("trusted", stored.name), *rests_on})
        content = self._base_content(piece)
        for start, records in by_start.items():
            end = following(piece["period"], self.zone, start)
            base = self._base_of(stored, content, start, end)
            for record in records:
                self._check_rollup(record, stored.other_values(record, piece["period"]), base, start, end)
        newest = max(record.as_of for records in by_start.values() for record in records)
        return frozenset({("computed", str(newest)), *rests_on})

    def _named_origins(self, record: Record) -> Iterator[Mapping[str, str]]:
        for origin in record.origins:
            table = next((s for s in self.tables.values() if s.table.id == origin["table"]), None)
            if origin["kind"] != "trusted" or table is None:
                raise NotUnderstood(f"content that rests on {origin['kind']} content of another fact or commit")
            if not table.definition["trusted"]:
                raise _Refuted(f"it rests on {table.name}, which is not TRUSTED at commit {self.catalog.commit}")
            yield {"kind": "trusted", "table": table.name}

    def _base_content(self, piece: Mapping[str, Any]) -> list[tuple[_Stored, str, list[tuple[int, Record]]]]:
        """Returns the versions of the base partitions around a piece, for each base table of its fact."""
        base, ranges = self.bases[piece["fact"].lower()], _ranges(piece["ranges"])
        fact = self.tables[piece["table"].lower()].fact
        result = []
        for stored in self._tables_of(fact):
            if base in stored.layouts:
                if stored.table.definition["properties"].get("rewriter.partitions") == "discovered":
                    raise NotUnderstood("a base whose partitions the catalog does not list")
                if stored.definition["others"]:
                    raise NotUnderstood("a base with partitions of several times")
                located = self._located(stored, stored.layouts[base], (ranges[0][0], ranges[-1][1]))
                result.append((stored, base, sorted(located, key=lambda pair: pair[0])))
        return result

    def _base_of(
        self, rollup: _Stored, content: list[tuple[_Stored, str, list[tuple[int, Record]]]], start: int, end: int
    ) -> list[tuple[_Stored, str, int, Record]]:
        return [
            (stored, period, at, record)
            for stored, period, located in content
            for at, record in located
            if start <= at < end and record.made is not None and record.made <= self.catalog.commit
        ]

    def _check_rollup(
        self,
        record: Record,
        own: Mapping[str, str | None],
        base: Sequence[tuple[_Stored, str, int, Record]],
        start: int,
        end: int,
    ) -> None:
        """One partition of a rollup holds what its base holds."""
        if record.doubt not in (None, INCOMPLETE) and not record.written <= self.catalog.unexamined:
            raise _Refuted(f"{time_text(start)} is in doubt: {record.doubt}")
        if record.as_of < 0:
            raise _Refuted(f"{time_text(start)} includes an unknown commit of its base")
        period = base[0][1] if base else None
        there = {at for _, _, at, version in base if not version.tombstone}
        at = start
        while period is not None and at < end:
            if at not in there:
                raise _Refuted(f"the base of {time_text(start)} has a hole at {time_text(at)}")
            at = following(period, self.zone, at)
        if period is None:
            raise _Refuted(f"{time_text(start)} has no base")
        for stored, base_period, at, version in base:
            other = stored.other_values(version, base_period)
            concerns = all(own[name] == other[name] for name in own.keys() & other.keys())
            written = max(version.written, stored.definition.get("joined") or 0)
            if concerns and version.as_of != REGISTERED and record.as_of < written <= self.catalog.commit:
                raise _Refuted(
                    f"{time_text(start)} includes its base up to commit {record.as_of}, and commit {written} wrote "
                    f"{time_text(at)} of {stored.name}"
                )

    def check_open_ends(self) -> None:
        """Behind an open end, nothing is stored in the tables of the facts that were read."""
        for key, is_begin in (("open_begin", True), ("open_end", False)):
            end = self.stated[key]
            if end is None:
                continue
            at = _instant(end["at"])
            for stored in self.tables.values():
                for period, layout in stored.layouts.items():
                    for start, record in self._located(stored, layout, (FIRST, LAST)):
                        beyond = start < at if is_begin else following(period, self.zone, start) > at
                        if beyond and record.is_seen(self.catalog.commit):
                            raise NotUnderstood(
                                f"{stored.name} has {time_text(start)} beyond the open end {time_text(at)}"
                            )

    def check_query(self) -> None:
        """The requested time is that of the conditions, and what is added up may be added up."""
        if self.cube is None:
            return
        tree = sqlglot.parse_one(self.certificate["query"], dialect="spark")
        place = self.stated["start"]
        node = next((table for table in tree.find_all(exp.Table) if _start(table) == place), None)
        select = node.find_ancestor(exp.Select) if node is not None else None
        if node is None or select is None:
            raise _Refuted("the query does not name the cube at the stated place")
        if self.catalog.find("fact", node.name) is not None:
            raise NotUnderstood(f"a query of the fact {node.name}")
        if node.name.lower() != self.stated["cube"].lower().rpartition(".")[2]:
            raise _Refuted(f"the query names {node.name} there")
        block = _Block(select, node, self.cube)
        self._check_time(block)
        if self.is_rolled:
            block.check_additive(self.zone, self.stated["pieces"])
        _check_arms(self, block)

    def _check_time(self, block: _Block) -> None:
        wanted, is_exact = block.wanted(self.zone)
        base = min((period for period in self.bases.values()), key=FINEST_FIRST.index, default=None)
        for key, keep in (("open_begin", (FIRST, "at")), ("open_end", ("at", LAST))):
            end = self.stated[key]
            if end is not None:
                cut = [tuple(_instant(end["at"]) if edge == "at" else edge for edge in keep)]
                wanted = difference(wanted, cut)  # type: ignore[arg-type]
        if not self.stated["pieces"] and not self.stated["missing"]:
            if self.requested:
                raise _Refuted("time is requested, and no piece covers it")
            raise NotUnderstood("a query of a time in which nothing is stored")
        edges = [edge for range_ in wanted for edge in range_ if edge not in (FIRST, LAST)]
        inside = [edge for edge in edges if base is not None and floor(base, self.zone, edge) != edge]
        if inside and (self._is_raw() or base is None):
            raise NotUnderstood("a bound inside a base period of events")
        # The time of a base row is the start of its period: t <= '01:00' takes the hour, and says nothing inexact.
        inexact = [edge for edge in inside if floor(base or "", self.zone, edge - 1) != edge - 1]
        if inexact and not is_exact:
            raise NotUnderstood("a condition on time, beside a bound inside a base period")
        if inexact and not self.stated["inexact"]:
            raise _Refuted(f"{time_text(inexact[0])} lies inside a base period, which the certificate does not say")
        wanted = union([(self._next_base(base, start), self._next_base(base, end)) for start, end in wanted])
        lost, added = difference(wanted, self.requested), difference(self.requested, wanted)
        if lost and not is_exact:
            raise NotUnderstood("a condition on time, so that the requested time is not confirmed")
        if lost:
            raise _Refuted(f"the conditions ask for {_shown(lost)}, too")
        if added:
            raise _Refuted(f"the conditions do not ask for {_shown(added)}")

    def _next_base(self, base: str | None, at: int) -> int:
        """Returns the first start of a base period at or behind a time."""
        if at in (FIRST, LAST) or base is None:
            return at
        begin = floor(base, self.zone, at)
        return begin if begin == at else following(base, self.zone, begin)

    def _is_raw(self) -> bool:
        return any(stored.definition.get("raw") is not None for stored in self.tables.values())


def _starts(period: str, zone: str, range_: Range) -> list[int]:
    try:
        return starts(period, zone, range_)
    except ValueError as error:
        raise _Refuted(str(error)) from None


def _words(stated: Sequence[Mapping[str, str]]) -> frozenset[tuple[str, ...]]:
    return frozenset(
        tuple(str(word[key]) for key in ("kind", "table", "base_commit") if key in word) for word in stated
    )


def _instant(text: str | None, unbounded: int = LAST) -> int:
    if text is None:
        return unbounded
    at = read_time(text.removesuffix("Z"), "UTC")
    if at is None:
        raise NotUnderstood(f"the time {text!r}")
    return at


def _ranges(stated: Sequence[Sequence[str | None]]) -> list[Range]:
    return [(_instant(start, FIRST), _instant(end, LAST)) for start, end in stated]


def _shown(ranges: Sequence[Range]) -> str:
    return ", ".join(
        f"{time_text(start) or 'the beginning'} to {time_text(end) or 'the end'}" for start, end in ranges[:3]
    )


def _start(table: exp.Table) -> int | None:
    first = table.args.get("catalog") or table.args.get("db") or table.this
    start: int | None = first.meta.get("start") if first is not None else None
    return start


# -- 5: additivity ----------------------------------------------------------------------------------------------------

#: Expressions that compute a value from values alone.
_PURE = (
    exp.Column, exp.Literal, exp.Boolean, exp.Null, exp.Paren, exp.And, exp.Or, exp.Not, exp.EQ, exp.NEQ, exp.LT,
    exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.Between, exp.In, exp.Like, exp.ILike, exp.Is, exp.Case, exp.If,
    exp.Coalesce, exp.Upper, exp.Lower, exp.Trim, exp.Substring, exp.Concat, exp.DPipe, exp.Length, exp.Add, exp.Sub,
    exp.Mul, exp.Neg, exp.Abs, exp.Identifier, exp.Tuple, exp.Cast, exp.DataType, exp.Alias, exp.Ordered, exp.Var,
)  # fmt: skip
#: What may stand around them in a block that adds up.
_CLAUSES = (
    exp.Select, exp.From, exp.Table, exp.TableAlias, exp.Where, exp.Group, exp.Having, exp.Order, exp.Limit,
    exp.Distinct, exp.Rollup, exp.GroupingSets, exp.Cube, exp.Filter, exp.Star, exp.Div,
)  # fmt: skip
_UNITS = {
    "YEAR": "YEARLY", "QUARTER": "QUARTERLY", "MONTH": "MONTHLY", "WEEK": "WEEKLY", "DAY": "DAILY", "HOUR": "HOURLY",
    "MINUTE": "MINUTELY", "YYYY": "YEARLY", "MM": "MONTHLY", "MON": "MONTHLY", "YY": "YEARLY", "DD": "DAILY",
}  # fmt: skip


@dataclass
class _Block:
    """The SELECT that names the cube."""

    select: exp.Select
    source: exp.Table
    cube: Object
    measures: dict[str, list[Any]] = field(init=False)
    dimensions: dict[str, str] = field(init=False)
    time: str = field(init=False)

    def __post_init__(self) -> None:
        definition = self.cube.definition
        self.measures = {measure[0].lower(): measure for measure in definition["measures"]}
        self.dimensions = {dimension[0].lower(): dimension[1] for dimension in definition["dimensions"]}
        self.time = definition["times"][0].lower()

    def is_own(self, column: exp.Column) -> bool:
        """Tests whether a column of the block may be one of the cube."""
        alias = (self.source.alias or self.source.name).lower()
        return not column.table or column.table.lower() == alias

    def is_time(self, node: exp.Expr | None) -> bool:
        return isinstance(node, exp.Column) and node.name.lower() == self.time and self.is_own(node)

    def uses_time(self, node: exp.Expr) -> bool:
        return any(self.is_time(column) for column in node.find_all(exp.Column))

    def wanted(self, zone: str) -> tuple[list[Range], bool]:
        """Returns the times that the conditions leave, and whether no other condition narrows them."""
        where = self.select.args.get("where")
        ranges, is_exact = ([(FIRST, LAST)], True) if where is None else _Condition(self, zone).read(where.this)
        # Conditions of a join, or of a query around this one, may narrow the time further.
        is_alone = not self.select.args.get("joins") and self.select.find_ancestor(exp.Select, exp.With) is None
        return ranges, is_exact and is_alone

    def check_additive(self, zone: str, pieces: Sequence[Mapping[str, Any]]) -> None:
        """Refuses a block whose result over rollups may differ from the one over the base."""
        select = self.select
        if select.args.get("joins") or select.args.get("laterals") or select.args.get("windows"):
            raise NotUnderstood("a join, over rollups")
        is_aggregate = any(isinstance(node, exp.AggFunc) for node in select.walk())
        if not is_aggregate and not select.args.get("group") and not select.args.get("distinct"):
            if select.find_ancestor(exp.Select, exp.With) is not None:
                raise NotUnderstood("a query inside of another one that returns rows, over rollups")
            raise _Refuted("the query returns rows, and a piece holds sums")
        periods = {piece["period"] for piece in pieces}
        output = {item.alias.lower() for item in select.expressions if item.alias}
        for name, value in select.args.items():
            for clause in value if isinstance(value, list) else [value]:
                if isinstance(clause, exp.Expr):
                    names = output if name in ("order", "having", "group") else set()
                    where = name == "where"
                    self._check(clause, zone, periods, names, in_where=where)

    def _check(self, node: exp.Expr, zone: str, periods: set[str], output: set[str], *, in_where: bool) -> None:
        """Checks an expression and those in it."""
        if in_where and isinstance(node, exp.Where | exp.And | exp.Paren):
            for condition in node.iter_expressions():
                self._check(condition, zone, periods, output, in_where=True)
        elif in_where and self.uses_time(node):
            if not _Condition(self, zone).read(node)[1]:
                raise NotUnderstood(f"the condition {node.sql('spark')}, over rollups")
        elif isinstance(node, exp.AggFunc):
            self._check_aggregate(node, zone, periods)
        elif self._unit(node) is not None:
            self._check_unit(node, zone, periods)
        elif isinstance(node, exp.Column):
            self._check_column(node, output)
        elif isinstance(node, (*_PURE, *_CLAUSES)) and not isinstance(node, exp.Subquery):
            if isinstance(node, exp.Div) and not any(isinstance(child, exp.AggFunc) for child in node.walk()):
                raise NotUnderstood(f"{node.sql('spark')}, over rollups")
            for child in node.iter_expressions():
                self._check(child, zone, periods, output, in_where=False)
        else:
            raise NotUnderstood(f"{type(node).__name__.upper()} {node.sql('spark')[:80]}, over rollups")

    def _check_column(self, column: exp.Column, output: set[str]) -> None:
        name = column.name.lower()
        if name in self.dimensions:
            if self.dimensions[name].lower() in ("double", "float", "timestamp") or "<" in self.dimensions[name]:
                raise NotUnderstood(f"the dimension {name} of type {self.dimensions[name]}")
        elif name in output and not column.table:
            return
        elif name in self.measures:
            raise _Refuted(f"the measure {name} is used outside of an aggregate, and a piece holds sums")
        elif name == self.time:
            raise _Refuted("time is used as it is, and a piece has no times of its rows")
        else:
            raise NotUnderstood(f"the column {name}")

    def _unit(self, node: exp.Expr) -> str | None:
        """Returns the period on which a function of time depends; ``None`` for anything else."""
        if isinstance(node, exp.Cast) and self.is_time(node.this) and node.is_type("date"):
            return "DAILY"
        if isinstance(node, exp.TsOrDsToDate | exp.Date) and self._is_time_argument(node.this):
            return "DAILY"
        for kind, unit in (
            (exp.Year, "YEARLY"), (exp.Quarter, "QUARTERLY"), (exp.Month, "MONTHLY"), (exp.Day, "DAILY"),
            (exp.DayOfMonth, "DAILY"), (exp.DayOfWeek, "DAILY"), (exp.DayOfYear, "DAILY"), (exp.Hour, "HOURLY"),
            (exp.Minute, "MINUTELY"),
        ):  # fmt: skip
            if isinstance(node, kind) and self._is_time_argument(node.this):
                return unit
        if isinstance(node, exp.TimestampTrunc | exp.DateTrunc) and self._is_time_argument(node.this):
            return _UNITS.get(node.text("unit").upper())
        return None

    def _is_time_argument(self, node: exp.Expr | None) -> bool:
        while isinstance(node, exp.TsOrDsToDate | exp.TsOrDsToTimestamp | exp.Paren):
            node = node.this
        return self.is_time(node)

    def _check_unit(self, node: exp.Expr, zone: str, periods: set[str]) -> None:
        unit = self._unit(node)
        if zone != "UTC" and periods & {"HOURLY", "MINUTELY"}:
            raise NotUnderstood("hours in days of a zone")
        coarse = [period for period in periods if unit is not None and unit not in NESTS[period]]
        if coarse:
            raise _Refuted(f"{node.sql('spark')} splits {coarse[0]} periods")

    def _check_aggregate(self, node: exp.AggFunc, zone: str, periods: set[str]) -> None:
        argument = node.this.unnest() if isinstance(node.this, exp.Expr) else None
        measure = self.measures.get(argument.name.lower()) if isinstance(argument, exp.Column) else None
        if isinstance(node, exp.Sum):
            if argument is None:
                raise NotUnderstood("SUM")
            self._check_sum(argument, zone, periods)
        elif isinstance(node, exp.Max | exp.Min) and not node.expressions:
            kind = "MAX" if isinstance(node, exp.Max) else "MIN"
            if measure is not None and measure[2] != kind:
                raise _Refuted(f"{kind} does not add up {measure[0]}, a measure {measure[2]}")
            if measure is None and argument is not None:
                self._check(argument, zone, periods, set(), in_where=False)
        elif isinstance(node, exp.Avg):
            if measure is None or measure[2] != "SUM" or measure[3] is None:
                raise _Refuted(f"{node.sql('spark')} is no average of a SUM measure that is COUNTED BY another")
        elif isinstance(node, exp.Count):
            for part in node.iter_expressions():
                if not isinstance(part, exp.Star):
                    self._check(part, zone, periods, set(), in_where=False)
        else:
            raise NotUnderstood(f"the aggregate {node.sql('spark')[:80]}")

    def _check_sum(self, argument: exp.Expr, zone: str, periods: set[str]) -> None:
        """The argument of SUM is a measure that SUM adds up, times a number, or such a one under a condition."""
        node = argument.unnest()
        if isinstance(node, exp.Column):
            measure = self.measures.get(node.name.lower())
            if measure is None:
                raise _Refuted(f"SUM of {node.name}, which is no measure, counts single rows")
            if measure[2] not in ("SUM", "COUNT"):
                raise _Refuted(f"SUM does not add up {measure[0]}, a measure {measure[2]}")
        elif isinstance(node, exp.Neg):
            self._check_sum(node.this, zone, periods)
        elif isinstance(node, exp.Mul) and (_is_number(node.this) or _is_number(node.expression)):
            self._check_sum(node.expression if _is_number(node.this) else node.this, zone, periods)
        elif isinstance(node, exp.Case) and node.this is None:
            for branch in node.args["ifs"]:
                self._check(branch.this, zone, periods, set(), in_where=False)
                self._check_value(branch.args["true"], zone, periods)
            self._check_value(node.args.get("default"), zone, periods)
        elif isinstance(node, exp.If):
            self._check(node.this, zone, periods, set(), in_where=False)
            self._check_value(node.args["true"], zone, periods)
            self._check_value(node.args.get("false"), zone, periods)
        elif isinstance(node, exp.Literal):
            raise _Refuted(f"SUM({node.sql('spark')}) counts single rows")
        else:
            raise NotUnderstood(f"SUM({node.sql('spark')[:80]})")

    def _check_value(self, value: exp.Expr | None, zone: str, periods: set[str]) -> None:
        is_nothing = value is None or isinstance(value, exp.Null)
        if not is_nothing and not (isinstance(value, exp.Literal) and value.name == "0"):
            self._check_sum(value, zone, periods)  # type: ignore[arg-type]


def _is_number(node: exp.Expr) -> bool:
    number = node.this if isinstance(node, exp.Neg) else node
    return isinstance(number, exp.Literal) and not number.is_string


class _Condition:
    """Reads conditions on the time of a block."""

    def __init__(self, block: _Block, zone: str) -> None:
        self._block, self._zone = block, zone

    def read(self, node: exp.Expr) -> tuple[list[Range], bool]:
        """Returns times that contain all for which the condition may be true, and whether that is all that it says
        about time.
        """
        node = node.unnest()
        everything: tuple[list[Range], bool] = ([(FIRST, LAST)], not self._block.uses_time(node))
        if isinstance(node, exp.And):
            (left, exact_left), (right, exact_right) = self.read(node.this), self.read(node.expression)
            return intersection(left, right), exact_left and exact_right
        if isinstance(node, exp.Or):
            both = self.read(node.this), self.read(node.expression)
            if not all(self._is_only_time(side) for side in (node.this, node.expression)):
                return union([*both[0][0], *both[1][0]]), everything[1]
            return union([*both[0][0], *both[1][0]]), both[0][1] and both[1][1]
        if isinstance(node, exp.Not):
            ranges, is_exact = self.read(node.this)
            return (complement(ranges), True) if is_exact and self._is_only_time(node.this) else everything
        ranges_of_leaf = self._leaf(node)
        return everything if ranges_of_leaf is None else (ranges_of_leaf, True)

    def _is_only_time(self, node: exp.Expr) -> bool:
        return all(self._block.is_time(column) for column in node.find_all(exp.Column)) and self._block.uses_time(node)

    def _leaf(self, node: exp.Expr) -> list[Range] | None:
        if isinstance(node, exp.Between):
            low = self._compare(exp.GTE, node.this, node.args["low"])
            high = self._compare(exp.LTE, node.this, node.args["high"])
            return None if low is None or high is None else intersection(low, high)
        if isinstance(node, exp.Anonymous) and node.name.lower() == "time_range_in":
            return self._time_range_in(node)
        if isinstance(node, exp.LT | exp.LTE | exp.GT | exp.GTE | exp.EQ):
            direct = self._compare(type(node), node.this, node.expression)
            mirrored: Mapping[type[exp.Expr], type[exp.Expr]] = {
                exp.LT: exp.GT,
                exp.LTE: exp.GTE,
                exp.GT: exp.LT,
                exp.GTE: exp.LTE,
            }
            return (
                direct
                if direct is not None
                else self._compare(mirrored.get(type(node), exp.EQ), node.expression, node.this)
            )
        return None

    def _time_range_in(self, call: exp.Anonymous) -> list[Range] | None:
        column, *bounds = call.expressions
        times = [self._literal(bound) for bound in bounds]
        if not self._block.is_time(column) or len(times) != 2 or None in times:
            return None
        return [(times[0] or 0, times[1] or 0)]

    def _literal(self, node: exp.Expr) -> int | None:
        node = node.unnest()
        if isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal) and node.this.is_string:
            at = read_time(node.this.name, self._zone)
            if node.is_type("date"):
                return None if at is None else floor("DAILY", self._zone, at)
            return at if node.is_type("timestamp", "timestamptz", "timestampltz") else None
        return read_time(node.name, self._zone) if isinstance(node, exp.Literal) and node.is_string else None

    def _compare(self, operator: type[exp.Expr], left: exp.Expr, right: exp.Expr) -> list[Range] | None:
        """Returns the times of ``time operator literal``, and of a function that cuts time to a unit."""
        left = left.unnest()
        unit = None if self._block.is_time(left) else self._block._unit(left)
        if unit is not None and isinstance(left, exp.Year) and isinstance(right, exp.Literal) and not right.is_string:
            at = read_time(right.name.zfill(4), self._zone)
        elif self._block.is_time(left) or (
            unit is not None and isinstance(left, exp.TimestampTrunc | exp.DateTrunc | exp.Cast | exp.TsOrDsToDate)
        ):
            at = self._literal(right)
            if at is not None and isinstance(left, exp.Cast | exp.TsOrDsToDate):
                at = floor("DAILY", self._zone, at)  # A date is compared with dates.
        else:
            return None
        if at is None:
            return None
        if unit is None:
            begin, end = at, at + 1
        else:
            begin = floor(unit, self._zone, at)
            end = following(unit, self._zone, begin)
            if begin != at:
                # No unit begins at the literal.
                is_before = operator in (exp.LT, exp.LTE)
                return [] if operator is exp.EQ else [(FIRST, end)] if is_before else [(end, LAST)]
        if operator is exp.LT:
            return [(FIRST, begin)]
        if operator is exp.LTE:
            return [(FIRST, end)]
        if operator is exp.GT:
            return [(end, LAST)]
        return [(begin, LAST)] if operator is exp.GTE else [(begin, end)]


# -- 6: the executed text ---------------------------------------------------------------------------------------------


def _check_edits(certificate: Mapping[str, Any], references: Sequence[_Reference]) -> None:
    """The executed text is the user's text with the listed edits, each of a known kind."""
    text, made, position = certificate["query"], "", 0
    places = {reference.stated["start"] for reference in references}
    cubes = [reference.cube for reference in references if reference.cube is not None]
    for start, end, replacement in sorted(certificate["edits"], key=lambda edit: (edit[0], edit[1])):
        if start < position or end > len(text):
            raise _Refuted("the edits overlap, or lie outside of the text")
        made += text[position:start] + replacement
        position = end
        if start not in places:
            _check_edit(text[start:end], replacement, cubes)
    if made + text[position:] != certificate["sql"]:
        raise _Refuted("the executed text differs from the query at other places than the listed ones")


def _check_edit(before: str, after: str, cubes: Sequence[Object]) -> None:
    if not before.strip():
        words = after.strip()
        name = words[3:].strip() if words[:3].upper() == "AS " else ""
        is_quoted = name[:1] == name[-1:] == "`" and "`" not in name[1:-1].replace("``", "")
        if not is_quoted and not name.isidentifier():
            raise NotUnderstood(f"the insertion {words[:80]!r}")
        return
    if before == after:
        return
    old, new = (sqlglot.parse_one(part, dialect="spark") for part in (before, after))
    new = new.this.unnest() if isinstance(new, exp.Alias) and " AS `" in after else new.unnest()
    if isinstance(old, exp.Anonymous) and old.name.lower() == "time_range_in" and _is_range(old, new):
        return
    if len(cubes) == 1 and isinstance(old, exp.Count) and _is_count_of_events(old, new, cubes[0]):
        return
    if len(cubes) == 1 and isinstance(old, exp.Avg) and _is_ratio(old, new, cubes[0]):
        return
    raise NotUnderstood(f"the edit of {before[:60]!r} to {after[:80]!r}")


def _is_count_of_events(count: exp.Count, node: exp.Expr, cube: Object) -> bool:
    """Tests for ``COALESCE(SUM(counter), 0)`` in place of ``COUNT(*)``, where ``counter`` counts the cube's events."""
    if not isinstance(count.this, exp.Star | exp.Literal) or not isinstance(node, exp.Coalesce):
        return False
    column = node.this.this.unnest() if isinstance(node.this, exp.Sum) else None
    if not isinstance(column, exp.Column) or [part.sql() for part in node.expressions] != ["0"]:
        return False
    measures = cube.definition["measures"]
    # A measure is its name, type, kind, counter, NOT NULL and EVENTS.
    of_values = {measure[3].lower() for measure in measures if measure[3] and not measure[4]}
    counters = [measure for measure in measures if measure[2] == "COUNT"]
    marked = [measure for measure in counters if measure[5]]
    of_events = marked or [measure for measure in counters if measure[0].lower() not in of_values]
    return len(of_events) == 1 and of_events[0][0].lower() == column.name.lower()


def _is_ratio(average: exp.Avg, node: exp.Expr, cube: Object) -> bool:
    """Tests for ``SUM(m) / NULLIF(SUM(counter), 0)`` in place of ``AVG(m)``."""
    column = average.this.unnest()
    measures = {measure[0].lower(): measure for measure in cube.definition["measures"]}
    measure = measures.get(column.name.lower()) if isinstance(column, exp.Column) else None
    if measure is None or not isinstance(node, exp.Div) or not isinstance(node.expression, exp.Nullif):
        return False
    above, below = node.this, node.expression.this
    if not (isinstance(above, exp.Sum) and isinstance(below, exp.Sum) and node.expression.expression.sql() == "0"):
        return False
    counter = (measure[3] or "").lower()
    return above.this.sql() == average.this.sql() and bool(counter) and below.this.name.lower() == counter


def _is_range(call: exp.Anonymous, node: exp.Expr) -> bool:
    """Tests for ``(t >= TIMESTAMP '…' AND t < TIMESTAMP '…')`` in place of ``time_range_in(t, …)``."""
    column, *bounds = call.expressions
    node = node.unnest()
    if not isinstance(node, exp.And) or len(bounds) != 2:
        return False
    low, high = node.this, node.expression
    if not isinstance(low, exp.GTE) or not isinstance(high, exp.LT):
        return False
    if low.this.sql() != column.sql() or high.this.sql() != column.sql():
        return False
    for bound, side in zip(bounds, (low, high), strict=True):
        value = side.expression
        literal = value.this if isinstance(value, exp.Cast) else value
        if (
            not bound.is_string
            or read_time(bound.name, "UTC") is None
            or read_time(bound.name, "UTC") != read_time(literal.name, "UTC")
        ):
            return False
    return True


def _check_arms(reference: _Reference, block: _Block) -> None:
    """The text in place of the cube's name selects exactly the partitions of the pieces, under their own names."""
    certificate, start = reference.certificate, reference.stated["start"]
    edit = next((edit for edit in certificate["edits"] if edit[0] == start), None)
    if edit is None:
        raise _Refuted("no edit puts the pieces in place of the cube")
    tree = sqlglot.parse_one(f"SELECT * FROM {edit[2]}", dialect="spark")
    source = tree.args["from_"].this
    if not isinstance(source, exp.Subquery) or source.alias.lower() not in ("", block.source.alias_or_name.lower()):
        raise NotUnderstood("what stands in place of the cube")
    arms, left = [], [source.this]
    while left:
        node = left.pop()
        if isinstance(node, exp.Union) and not node.args.get("distinct"):
            left += [node.expression, node.this]
        elif isinstance(node, exp.Select):
            arms.append(node)
        else:
            raise NotUnderstood(f"{type(node).__name__} in place of the cube")
    names = [tuple(item.alias_or_name.lower() for item in arm.expressions) for arm in arms]
    if len(set(names)) > 1:
        raise _Refuted("the pieces have different columns in one place")
    selected: dict[str, set[tuple[str | None, ...]]] = {}
    for arm in arms:
        _check_arm(arm, reference, block, selected)
    wanted: dict[str, set[tuple[str | None, ...]]] = {}
    for (table, _), values in reference.selected.items():
        wanted.setdefault(table, set()).update(values)
    if selected != wanted:
        tables = sorted(table for table in selected.keys() | wanted.keys() if selected.get(table) != wanted.get(table))
        raise _Refuted(f"the executed text selects other partitions of {', '.join(tables)} than the pieces name")


def _check_arm(
    arm: exp.Select, reference: _Reference, block: _Block, selected: dict[str, set[tuple[str | None, ...]]]
) -> None:
    if {key for key, value in arm.args.items() if value} - {"expressions", "from_", "where", "kind"}:
        raise NotUnderstood("a clause in place of the cube")
    table = arm.args["from_"].this
    stored = reference.tables.get(".".join(part.name for part in table.parts).lower())
    if stored is None:
        raise _Refuted(f"{table.sql('spark')} is no table of the facts")
    for item in arm.expressions:
        _check_item(item, stored, block)
    where = arm.args.get("where")
    seen = [
        version for version in reference.catalog.versions(stored.table) if version.is_seen(reference.catalog.commit)
    ]
    chosen = {
        version.values
        for version in seen
        if where is None or holds(where.this, dict(zip(map(str.lower, stored.columns), version.values, strict=True)))
    }
    if chosen & selected.get(stored.name, set()):
        raise _Refuted(f"partitions of {stored.name} are read twice")
    selected.setdefault(stored.name, set()).update(chosen)


def _check_item(item: exp.Expr, stored: _Stored, block: _Block) -> None:
    """A column of a piece is that of the table with this name, or its time."""
    name, value = item.alias_or_name.lower(), item.this if isinstance(item, exp.Alias) else item
    raw = stored.definition.get("raw") or {}
    own_expression = {key.lower(): text for key, text in raw.items()}.get(name)
    if isinstance(value, exp.Column):
        is_time = name == block.time and value.name.lower() in map(str.lower, stored.columns)
        if value.name.lower() != name and not is_time:
            if name not in block.measures.keys() | block.dimensions.keys() | {block.time}:
                raise NotUnderstood(f"{value.name} of {stored.name} as {name}, which the cube does not have")
            raise _Refuted(f"{value.name} of {stored.name} stands for {name}")
        return
    if own_expression is not None and sqlglot.parse_one(own_expression, dialect="spark") == value.unnest():
        return
    if name == block.time and {column.name.lower() for column in value.find_all(exp.Column)} <= set(
        map(str.lower, stored.columns)
    ):
        return
    if isinstance(value, exp.Cast) and isinstance(value.this, exp.Column) and value.this.name.lower() == name:
        return
    raise NotUnderstood(f"{item.sql('spark')[:80]} of {stored.name}")
