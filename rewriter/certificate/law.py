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
6. The executed text is the user's text, with the queries of views in their places, but for the listed edits. The
   cube's name is replaced by a union of queries that select exactly the partitions of the pieces, under the names of
   their columns; a count of events is the sum of the COUNT measure; an average is a sum by a sum.

Anything that the program does not understand, it does not accept: it says NOT_UNDERSTOOD. Where the evidence
contradicts the certificate it says REFUTED, and where the catalog no longer shows it, OUT_OF_SIGHT.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from operator import itemgetter
from typing import Any

import sqlglot
from sqlglot import exp

from rewriter.certificate.edits import (
    Clocks,
    QueryTexts,
    TextComparison,
    check_name,
    check_views,
    refuse_counts_of_rows,
    refuse_counts_of_sums,
    refuse_renamed_times,
)
from rewriter.certificate.evidence import (
    INCOMPLETE,
    OPEN,
    CatalogRecords,
    Finding,
    FindingKind,
    NotUnderstood,
    Object,
    OutOfSight,
    PieceContent,
    Record,
    Refuted,
    Rows,
    Unaccepted,
    Verdict,
    keep,
)
from rewriter.certificate.expressions import ArmQuery, ComputedExpressions
from rewriter.certificate.periods import (
    FIRST,
    LAST,
    Layout,
    Range,
    difference,
    floor,
    following,
    intersection,
    moment,
    time_text,
    union,
)
from rewriter.certificate.query_block import LAST_SECOND, QueryBlock, WantedTime
from rewriter.certificate.states import without_clauses
from rewriter.certificate.stored_tables import (
    BaseRows,
    StoredTable,
    base_period,
    carrying,
    check_inexact,
    check_listed,
    check_origin,
    checked_starts,
    extent_of_piece,
    has_base,
    is_named,
    may_share,
    over_period,
    ranges_text,
    read_instant,
    read_items,
    read_ranges,
    reasons_as_words,
    tables_of,
    written_by,
)
from rewriter.certificate.subqueries import clauses_of, counterpart, enclosing_nodes, offset_of_name
from rewriter.certificate.transforms import partitions_of_arm

FORMAT = "rewriter certificate 1"


def check(certificate: Mapping[str, Any], rows: Rows, read: CatalogRecords | None = None) -> Verdict:
    """Checks a certificate against the catalog that ``rows`` reads. Never raises for a certificate of any content.
    ``read`` are records of its commit that were read, and rollups that were checked, for an earlier certificate.
    """
    findings: list[Finding] = []

    def passes(place: str, step: Callable[[], None]) -> bool:
        try:
            step()
        except Unaccepted as error:
            findings.append(Finding(error.kind, place, str(error)))
        except sqlglot.errors.SqlglotError:
            findings.append(Finding(FindingKind.NOT_UNDERSTOOD, place, "a text that cannot be read"))
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError, re.error) as error:
            findings.append(Finding(FindingKind.NOT_UNDERSTOOD, place, f"{type(error).__name__}: {error}"))
        else:
            return True
        return False

    read_texts: list[Mapping[str, Any]] = []
    if passes("certificate", lambda: _check_frame(certificate)) and passes(
        "text", lambda: read_texts.append(without_clauses(certificate, rows))
    ):
        (certificate,) = read_texts
        catalog = read or CatalogRecords(rows, certificate["commit"])
        passes("certificate", lambda: _check_commit(catalog))
        texts = QueryTexts(certificate)
        references = [_Reference(certificate, stated, catalog, texts) for stated in certificate["references"]]
        are_read = [passes(reference.place, reference.read_catalog) for reference in references]
        for reference in (reference for reference, is_read in zip(references, are_read, strict=True) if is_read):
            passes(reference.place, reference.check_ranges)
            are_there = [
                passes(
                    f"{reference.place}, {piece.get('table')} {piece.get('period')}",
                    partial(reference.check_piece, piece),
                )
                for piece in reference.stated["pieces"]
            ]
            passes(reference.place, reference.check_open_ends)
            if all(are_there):
                passes(reference.place, reference.check_query)
        passes("text", lambda: _check_edits(certificate, references, catalog, texts))
        if certificate.get("typed") is not None:
            passes("views", lambda: check_views(certificate, catalog))
    return Verdict(tuple(findings))


def _check_frame(certificate: Mapping[str, Any]) -> None:
    if certificate.get("format") != FORMAT:
        raise NotUnderstood(f"the format {certificate.get('format')!r}")
    references = certificate["references"]
    if not references or not all(isinstance(reference, dict) for reference in references):
        raise NotUnderstood("the query names no cube")
    if "typed" not in certificate and not certificate["is_typed"]:  # A certificate of 0.2.
        raise NotUnderstood("a query over views, without its own text")
    if not isinstance(certificate["commit"], int):
        raise NotUnderstood(f"the commit {certificate['commit']!r}")


def _check_commit(catalog: CatalogRecords) -> None:
    if catalog.newest_commit < catalog.commit:
        raise Refuted(f"the newest commit of the catalog is {catalog.newest_commit}, not yet {catalog.commit}")


# -- 1 to 4: the catalog ----------------------------------------------------------------------------------------------


class _Reference:
    """One reference to a cube, as the certificate states it."""

    def __init__(
        self, certificate: Mapping[str, Any], stated: Mapping[str, Any], catalog: CatalogRecords, texts: QueryTexts
    ) -> None:
        self.certificate, self.stated, self.catalog, self.texts = certificate, stated, catalog, texts
        self.zone: str = stated.get("zone") or "UTC"
        #: What findings call it: the cube, and where the query names it.
        self.place = f"{stated.get('cube')} at {stated.get('start')}"
        self.requested: list[Range] = []
        #: The time of the cube that the ranges are about.
        self.time = ""
        #: By another time: the ranges that the partitions of the pieces name. Events may lie elsewhere.
        self.other_ranges: dict[str, list[Range]] = {}
        self.cube: Object | None = None
        #: By name of the table, in lower case: all tables of the facts that the pieces name; of all facts of the cube
        #: where time is called missing.
        self.tables: dict[str, StoredTable] = {}
        self.bases: dict[str, str] = {}
        #: By name of the table: the time in which it is used.
        self.windows: dict[str, Range] = {}
        #: The time of all pieces.
        self._read: Range = (LAST, FIRST)
        #: By name of the table and values of the partition: the start of the period of each one in a piece.
        self.selected: dict[str, dict[tuple[str | None, ...], int]] = {}

    def read_catalog(self) -> None:
        """Finds the cube, and the facts and tables of the pieces, as the commit saw them."""
        cube = self.catalog.find("cube", self.stated["cube"])
        if cube is None:
            raise OutOfSight(f"the catalog has no cube {self.stated['cube']} at commit {self.catalog.commit}")
        self.cube = cube
        if (cube.definition.get("time_zone") or "UTC") != self.zone:
            raise Refuted(f"the zone of the cube is {cube.definition.get('time_zone') or 'UTC'}")
        named = {piece["fact"] for piece in self.stated["pieces"]}
        for name in sorted(named):
            self._read_fact(name)
        is_whole = self.stated["pieces"] and not self.stated["missing"]
        for name in () if is_whole else self.catalog.facts_of(cube.name):
            self._read_fact(name)
        of_pieces = [self.tables[piece["table"].lower()] for piece in self.stated["pieces"]] or [*self.tables.values()]
        times = {str(stored.definition["time"]).lower() for stored in of_pieces}
        if len(times) != 1:
            raise NotUnderstood("tables that several times of the cube lead, or none")
        (self.time,) = times
        self.requested = read_ranges(self.stated["requested"])
        edges = [edge for piece in self.stated["pieces"] for edge in extent_of_piece(piece)]
        self._read = (min(edges), max(edges)) if edges else (LAST, FIRST)

    def _read_fact(self, name: str) -> None:
        fact = self.catalog.find("fact", name)
        if fact is None:
            raise OutOfSight(f"the catalog has no fact {name} at commit {self.catalog.commit}")
        if fact.definition["cube"].lower() != self.stated["cube"].lower():
            raise Refuted(f"{name} is a fact of {fact.definition['cube']}")
        of_fact = {stored.name: stored for stored in tables_of(fact, self.catalog)}
        self.tables |= of_fact
        now = read_instant(self.certificate["now"])
        self.windows |= {table: stored.window(self.zone, now) for table, stored in of_fact.items()}
        self.bases[fact.name.lower()] = base_period(of_fact.values())

    def _tables_of(self, fact: Object) -> list[StoredTable]:
        return [stored for stored in self.tables.values() if stored.fact.name == fact.name]

    def _has_rows(self, piece: Mapping[str, Any], rows: BaseRows) -> bool:
        """Tests whether a piece has the base rows of the query; else it holds sums of them."""
        is_raw = self.tables[piece["table"].lower()].is_raw
        return self._is_base(piece) and piece["period"] == rows.period and (is_raw or not rows.are_events)

    def _is_base(self, piece: Mapping[str, Any]) -> bool:
        stored = self.tables.get(piece["table"].lower())
        return (
            stored is not None
            and piece["period"] == self.bases.get(stored.fact.name.lower())
            and has_base(stored, self._tables_of(stored.fact))
        )

    def check_ranges(self) -> None:
        """The pieces and the missing time are disjoint, and together they are the requested time."""
        missing, requested = self.stated["missing"], self.stated["requested"]
        covered: list[Range] = []
        for piece in [{"ranges": requested}, *self.stated["pieces"], {"ranges": missing, "table": "missing"}]:
            ranges = read_ranges(piece["ranges"])
            if sum(end - start for start, end in ranges) != sum(end - start for start, end in union(ranges)):
                raise Refuted(f"the ranges of {piece.get('table', 'the requested time')} overlap")
            if "table" not in piece:
                continue
            if twice := intersection(covered, ranges):
                raise Refuted(f"{ranges_text(twice)} is covered twice, the second time by {piece['table']}")
            covered = union([*covered, *ranges])
        wrong = difference(covered, self.requested), difference(self.requested, covered)
        for text, ranges in zip(("was not requested", "is neither covered nor missing"), wrong, strict=True):
            if ranges:
                raise Refuted(f"{ranges_text(ranges)} {text}")
        if missing and not self.certificate["settings"]["partial_data"]:
            raise Refuted("time is missing, and partial_data is off")
        self._refuse_stored(union(read_ranges(missing)))

    def _refuse_stored(self, missing: Sequence[Range]) -> None:
        """No partition could serve missing time: those that are stored there reach beyond the request, or do not hold
        their base.
        """
        for stored in self.tables.values() if missing else ():
            check_listed(stored)
            for period, layout in stored.layouts.items():
                by_start: dict[int, list[Record]] = {}
                for start, record in self._located(stored, layout, (missing[0][0], missing[-1][1])):
                    if record.is_seen(self.catalog.commit):
                        by_start.setdefault(start, []).append(record)
                for start, records in by_start.items():
                    stretch = [(start, following(period, self.zone, start))]
                    is_whole = stored.is_raw or not difference(stretch, self.requested)
                    is_whole = is_whole and not difference(stretch, [self.windows[stored.name]])
                    if is_whole and intersection(stretch, missing) and self._is_usable(stored, period, start, records):
                        raise NotUnderstood(f"{stored.name} has {time_text(start)}, which is called missing")

    def _is_usable(self, stored: StoredTable, period: str, start: int, records: Sequence[Record]) -> bool:
        ranges = [[time_text(start), time_text(following(period, self.zone, start))]]
        piece = {"fact": stored.fact.name, "table": stored.name, "period": period, "ranges": ranges}
        try:
            self._check_presence(stored, piece, start, records)
            self._rests_on(stored, piece, {start: records})
        except Refuted:
            return False
        return True

    def check_piece(self, piece: Mapping[str, Any]) -> None:
        """The partitions of a piece are there, with the content that the certificate states, and hold their base."""
        stored = self.tables[piece["table"].lower()]
        if (stored.fact.name.lower(), stored.storage) != (piece["fact"].lower(), piece["storage"]):
            raise Refuted(f"{piece['table']} is no table of {piece['fact']} in the storage {piece['storage']}")
        if piece["period"] not in stored.layouts:
            raise Refuted(f"{piece['table']} has no {piece['period']} partitions")
        check_listed(stored)
        if outside := difference(read_ranges(piece["ranges"]), [self.windows[stored.name]]):
            raise Refuted(f"{ranges_text(outside)} is outside of the time in which {stored.name} is used")
        content = self._content_of(stored, piece)
        for name, count in content.counts.items():
            if count != piece[name]:
                raise Refuted(f"it has {count} {name}, not {piece[name]}")
        if content.digest != piece["digest"]:
            raise Refuted("its partitions have another content than the certificate states")
        self.selected.setdefault(stored.name, {}).update(content.starts_of_values)
        records, by_start = content.records, content.by_start
        for record in records if stored.others else ():
            for name, value in stored.other_values(record, piece["period"], self.zone).items():
                if name.startswith("time ") and value is not None:
                    self.other_ranges.setdefault(name.removeprefix("time "), []).append(value)
        reasons, stated = self._rests_on(stored, piece, by_start), reasons_as_words(piece["rests_on"])
        if reasons != stated or len(reasons) != len(piece["rests_on"]):
            texts = [", ".join(sorted(map(" ".join, words))) for words in (reasons, stated)]
            raise Refuted(f"it rests on {texts[0]}; the certificate names {texts[1] or 'nothing'}")

    def _content_of(self, stored: StoredTable, piece: Mapping[str, Any]) -> PieceContent:
        """Returns the partitions in the periods of a piece. Each has one, and the columns of COMPLETE WITH."""
        ranges = (*read_ranges(piece["ranges"]),)
        key = stored.fact.id, stored.table.id, piece["period"], self.zone, ranges
        content = self.catalog.pieces.get(key)
        if content is None:
            starts = [start for range_ in ranges for start in checked_starts(piece["period"], self.zone, range_)]
            by_start: dict[int, list[Record]] = {start: [] for start in starts}
            for begin, end in ranges:
                for start, record in self._located(stored, stored.layouts[piece["period"]], (begin, end)):
                    if begin <= start and start in by_start and record.is_seen(self.catalog.commit):
                        by_start[start].append(record)
            for start, records in by_start.items():
                self._check_presence(stored, piece, start, records)
            content = PieceContent(by_start)
            # Periods of ranges that overlap would be counted twice.
            if len(starts) != len(by_start):
                raise Refuted("its ranges overlap")
            keep(self.catalog.pieces, key, content)
        return content

    def _located(self, stored: StoredTable, layout: Layout, range_: Range) -> list[tuple[int, Record]]:
        """Returns all versions of the partitions around a range, with the starts of their periods, in their order. They
        are read once for all pieces, and for later certificates of the commit.
        """
        place = stored.fact.id, stored.table.id, layout.period, self.zone
        extent, placed = self.catalog.located.get(place, (self._read, None))
        if placed is None or range_[0] < extent[0] or range_[1] > extent[1]:
            extent = min(range_[0], extent[0]), max(range_[1], extent[1])
            versions = self.catalog.versions(stored.table, *layout.text_bounds(extent, self.zone))
            starts = ((layout.start(record.values, self.zone), record) for record in versions)
            placed = sorted(((start, record) for start, record in starts if start is not None), key=itemgetter(0))
            self.catalog.located[place] = extent, placed
        first = bisect_left(placed, range_[0], key=itemgetter(0))
        # A period may begin before the range.
        first = bisect_left(placed, placed[first - 1][0], key=itemgetter(0)) if first else 0
        return placed[first : bisect_left(placed, range_[1], key=itemgetter(0))]

    def _check_presence(
        self, stored: StoredTable, piece: Mapping[str, Any], start: int, records: Sequence[Record]
    ) -> None:
        if not records:
            raise Refuted(f"no partition was there for {time_text(start)} at commit {self.catalog.commit}")
        for record in records:
            if record.doubt == OPEN:
                raise Refuted(f"a stream still filled the partition of {time_text(start)}")
        complete = stored.definition["complete"]
        present = [stored.other_values(record, piece["period"], self.zone) for record in records] if complete else []
        for name, wanted in complete:
            if wanted is not None and not set(wanted) <= {values[name.lower()] for values in present}:
                raise Refuted(f"the period {time_text(start)} lacks values of {name}")
        if len(complete) > 1:
            raise NotUnderstood("COMPLETE WITH of several columns")

    def _rests_on(
        self, stored: StoredTable, piece: Mapping[str, Any], by_start: Mapping[int, Sequence[Record]]
    ) -> frozenset[tuple[str, ...]]:
        is_base = self._is_base(piece)
        origins = {
            tuple(origin.items()): origin
            for start, records in by_start.items()
            for record in records
            for stated in record.origins
            for origin in (over_period(stated, piece["period"], self.zone, start) if is_base else [stated])
        }
        rests_on = {(str(origin["kind"]), check_origin(origin, self.catalog)) for origin in origins.values()}
        if stored.table.definition["external"]:
            rests_on.add(("external", stored.name))
        if is_base:
            return frozenset({("base",), *rests_on})
        if stored.definition["trusted"]:
            return frozenset({("trusted", stored.name), *rests_on})
        period, checked = self.bases[piece["fact"].lower()], self.catalog.checked_rollups
        place = stored.fact.id, stored.table.id, piece["period"], self.zone
        is_checked = {start: all((*place, r.values) in checked for r in records) for start, records in by_start.items()}
        base = [] if all(is_checked.values()) else self._base_content(piece)
        base_starts = [at for at, _, _ in base]
        for start, records in by_start.items():
            if is_checked[start]:
                continue
            end = following(piece["period"], self.zone, start)
            inside = base[bisect_left(base_starts, start) : bisect_left(base_starts, end)]
            self._check_holes(period, inside, start, end)
            for record in records:
                own = stored.other_values(record, piece["period"], self.zone)
                self._check_rollup(record, own, period, inside, start)
                checked.add((*place, record.values))
        return frozenset({("computed", str(max(r.as_of for records in by_start.values() for r in records))), *rests_on})

    def _base_content(self, piece: Mapping[str, Any]) -> list[tuple[int, StoredTable, Record]]:
        """Returns the versions of the base partitions around a piece that were made up to the commit, in the order of
        time.
        """
        base = self.bases[piece["fact"].lower()]
        content = []
        for stored in self._tables_of(self.tables[piece["table"].lower()].fact):
            if has_base(stored, self._tables_of(stored.fact)):
                check_listed(stored)
                content += [
                    (start, stored, record)
                    for start, record in self._located(stored, stored.layouts[base], extent_of_piece(piece))
                    if record.made is not None and record.made <= self.catalog.commit
                ]
        return sorted(content, key=lambda version: version[0])

    def _check_holes(self, period: str, base: Sequence[tuple[int, StoredTable, Record]], start: int, end: int) -> None:
        """Each base period inside of a rollup has or had a partition."""
        there = {at for at, _, version in base if not version.tombstone}
        at = start
        while at < end:
            if at not in there:
                raise Refuted(f"the base of {time_text(start)} has a hole at {time_text(at)}")
            at = following(period, self.zone, at)

    def _check_rollup(
        self,
        record: Record,
        own: Mapping[str, Any],
        period: str,
        base: Sequence[tuple[int, StoredTable, Record]],
        start: int,
    ) -> None:
        """One partition of a rollup holds what its base holds."""
        if record.doubt not in (None, INCOMPLETE) and not record.written <= self.catalog.unexamined:
            raise Refuted(f"{time_text(start)} is in doubt: {record.doubt}")
        if record.as_of < 0:
            raise Refuted(f"{time_text(start)} includes an unknown commit of its base")
        for at, stored, version in base:
            other = stored.other_values(version, period, self.zone)
            concerns = all(may_share(own[name], other[name]) for name in own.keys() & other.keys())
            if concerns and record.as_of < (written := written_by(version, stored)) <= self.catalog.commit:
                raise Refuted(
                    f"{time_text(start)} includes its base up to commit {record.as_of}, and commit {written} wrote "
                    f"{time_text(at)} of {stored.name}"
                )

    def check_open_ends(self) -> None:
        """Behind an open end, nothing is stored in the tables of the facts that were read."""
        for key, is_begin in (("open_begin", True), ("open_end", False)):
            end = self.stated[key]
            if end is None:
                continue
            at = read_instant(end["at"])
            for stored in self.tables.values():
                for period, layout in stored.layouts.items():
                    for start, record in self._located(stored, layout, (FIRST, LAST)):
                        stop = following(period, self.zone, start)
                        is_used = not difference([(start, stop)], [self.windows[stored.name]])
                        beyond = is_used and (start < at if is_begin else stop > at)
                        if beyond and record.is_seen(self.catalog.commit):
                            raise NotUnderstood(
                                f"{stored.name} has {time_text(start)} beyond the open end {time_text(at)}"
                            )

    def check_query(self) -> None:
        """The requested time is that of the conditions, and what is added up may be added up."""
        if self.cube is None:
            return
        tree, executed = self.texts.trees
        node = next(
            (table for table in tree.find_all(exp.Table) if offset_of_name(table) == self.stated["start"]), None
        )
        select = node.find_ancestor(exp.Select) if node is not None else None
        if node is None or select is None:
            raise Refuted("the query does not name the cube at the stated place")
        self._check_source(node)
        pieces: dict[str, list[Range]] = {}
        for piece in self.stated["pieces"]:
            pieces.setdefault(piece["period"], []).extend(read_ranges(piece["ranges"]))
        block = QueryBlock(select, node, self.cube, self.zone, pieces, read_instant(self.certificate["now"]), self.time)
        rows, is_tested = self._base_rows(block), block.semi_join() is not None
        time = block.wanted()
        self._check_time(block, time, rows.period)
        have_rows = all(self._has_rows(piece, rows) for piece in self.stated["pieces"])
        # Rows of several facts are added up, too.
        if not have_rows or len({piece["fact"] for piece in self.stated["pieces"]}) > 1:
            block = replace(block, pieces={} if have_rows else pieces)
            self._refuse_joined_cubes(select, node)
            block.check_additive()
            for ranges in (time.bounded, time.enclosed):
                block.refuse_split(ranges, rows.period)
            if not is_tested:
                refuse_counts_of_rows(select, executed, adds_up=block.adds_up(), has_empty_rows=block.has_empty_rows())
        elif not is_tested and not all(self.tables[p["table"].lower()].is_raw for p in self.stated["pieces"]):
            refuse_counts_of_sums(select, executed, self.cube, block.adds_up())
        _check_arms(self, block)

    def _check_source(self, node: exp.Table) -> None:
        """The query names the cube there, or the fact of all pieces."""
        database = self.certificate.get("database")
        if clauses_of(node) - {"this", "db", "catalog", "alias"} or node.alias_column_names:
            raise NotUnderstood(node.sql("spark")[:80])
        is_fact = not is_named(node, self.stated["cube"], database)
        if is_fact and (self.stated["missing"] or not self.stated["pieces"]):
            raise NotUnderstood(f"missing time of {node.name}")
        for fact in {piece["fact"].lower() for piece in self.stated["pieces"]} if is_fact else ():
            if not is_named(node, fact, database):
                raise Refuted(f"the query names {node.name} there")
        # Of a query inside of another one, the planner states the name in the outer one.
        outer = [*enclosing_nodes(node, exp.Subquery), *enclosing_nodes(node, exp.CTE)]
        names = [*node.meta.get("names", ()), *(source.alias_or_name for source in (node, *outer))]
        if self.stated["alias"].lower() not in {name.lower() for name in names}:
            raise NotUnderstood(f"the name {self.stated['alias']}: the query calls the cube {node.alias_or_name}")

    def _refuse_joined_cubes(self, select: exp.Select, node: exp.Table) -> None:
        """A cube that is joined has as many rows as its pieces have, and multiplies the other side by that."""
        sources = [clause.this for clause in (select.args["from_"], *select.args.get("joins", ()))]
        for source in sources:
            if source is not node and isinstance(source, exp.Table) and self.catalog.has_cube_or_fact(source.name):
                raise NotUnderstood(f"a join with the cube {source.name}, over rollups")

    def _base_rows(self, block: QueryBlock) -> BaseRows:
        """Returns what the rows of the cube are for the query; of a fact, if the query names one."""
        of_pieces = [self.tables[piece["table"].lower()].fact for piece in self.stated["pieces"]]
        is_of_cube = block.source.name.lower() == block.cube.name.lower().rpartition(".")[2]
        facts = [self.catalog.find("fact", name) for name in self.catalog.facts_of(block.cube.name) if is_of_cube]
        others = [fact for fact in facts if fact is not None]
        used = block.used_columns()
        # A query that was merged into this one may name more columns than this one uses.
        most = None if used is None else used | block.source.meta.get("columns", set())
        candidates = [[*of_pieces, *(others if names is None else carrying(others, names))] for names in (used, most)]
        rows, of_most = (BaseRows.among(among or others) for among in candidates)
        is_unsure = rows != of_most or (
            (used is None or block.other_times) and rows != BaseRows.among(of_pieces or others)
        )
        if is_unsure:
            raise NotUnderstood("a fact with shorter base periods, which may not have all columns of the query")
        return rows

    def _check_time(self, block: QueryBlock, time: WantedTime, base: str) -> None:
        is_exact = time.is_exact and time.is_alone
        # A plan may leave conditions of the queries around the block to them, and those on the calendar to the text.
        for ranges in (time.enclosed, time.bounded):
            with suppress(Unaccepted):
                self._check_edges(self._cut(ranges), base, time.is_exact)
                break
        else:
            # A condition on the calendar compares no time with a bound.
            bounds = {bound for ranges in (time.enclosed, time.bounded) for range_ in ranges for bound in range_}
            left = [(a if a in bounds else FIRST, b if b in bounds else LAST) for a, b in time.ranges]
            self._check_edges(self._cut(left), base, is_exact)
        # More than what conditions on the calendar leave may be requested: the text has these conditions, too.
        wanted, bounded, enclosed = (
            union(self._cut([(self._bound(base, a, False), self._bound(base, b, True)) for a, b in ranges]))
            for ranges in (time.ranges, time.bounded, time.enclosed)
        )
        most = union([*bounded, *enclosed])
        is_nothing = not self.stated["pieces"] and not self.stated["missing"]
        if is_nothing and (self.requested or any(start < end for start, end in wanted)):
            raise (Refuted if self.requested else NotUnderstood)("a query of a time that no piece covers")
        lost, added = difference(wanted, self.requested), difference(self.requested, most)
        end = self.stated["open_end"]
        is_behind = end is not None and all(start >= read_instant(end["at"]) for start, _ in lost)
        if lost and (not is_exact or (is_behind and len(wanted) > 1)):
            raise NotUnderstood("a condition on time, so that the requested time is not confirmed")
        if lost:
            raise Refuted(f"the conditions ask for {ranges_text(lost)}, too")
        # A plan may leave conditions of a query inside of this one to it.
        if added and not (is_exact and block.has_plain_constants()):
            raise NotUnderstood(f"a condition on time, beside {ranges_text(added)}")
        if added and not block.source.meta.get("names"):
            raise Refuted(f"the conditions do not ask for {ranges_text(added)}")

    def _cut(self, ranges: Sequence[Range]) -> list[Range]:
        """Returns ranges up to the open ends that the certificate states. One that is wholly behind an end is kept: it
        is missing.
        """
        begin, end = self.stated["open_begin"], self.stated["open_end"]
        first = FIRST if begin is None else read_instant(begin["at"])
        last = LAST if end is None else read_instant(end["at"])
        return [
            (
                max(start, first) if start == FIRST < first < stop else start,
                min(stop, last) if stop == LAST and start < last else stop,
            )
            for start, stop in ranges
        ]

    def _check_edges(self, wanted: Sequence[Range], base: str, is_exact: bool) -> None:
        """Bounds inside a base period of sums count only where the certificate says so."""
        edges = [edge for range_ in wanted for edge in range_ if edge not in (FIRST, LAST)]
        inside = [edge for edge in edges if floor(base, self.zone, edge) != edge]
        if (of_sums := [edge for edge in inside if not self._is_of_events(base, edge)]) and self._is_raw():
            text = f"{time_text(of_sums[0])} lies inside a base period, and its events are not read"
            raise Refuted(text) if is_exact else NotUnderstood(text)
        # The time of a base row is the start of its period: t <= '01:00' takes the hour, and says nothing inexact.
        # A bound in the last second is the end of its period: BETWEEN … AND '23:59:59'.
        inexact = [
            edge
            for edge in of_sums
            if floor(base, self.zone, edge - 1) != edge - 1 and self._bound(base, edge, True) - edge >= LAST_SECOND
        ]
        if inexact and not is_exact:
            raise NotUnderstood("a condition on time, beside a bound inside a base period")
        check_inexact(inexact, self.stated["inexact"], self.zone)

    def _bound(self, base: str, at: int, is_end: bool) -> int:
        """Returns the bound of the base periods that are read for a bound of time. A period of sums has the time of its
        start. The condition of the query chooses among the events of a period.
        """
        if at in (FIRST, LAST):
            return at
        begin = floor(base, self.zone, at)
        is_first = begin == at or (not is_end and self._is_of_events(base, at))
        return begin if is_first else following(base, self.zone, begin)

    def _is_of_events(self, base: str, at: int) -> bool:
        """Tests whether the base period of a time is read from a table of events."""
        for piece in self.stated["pieces"]:
            if any(start <= at < end for start, end in read_ranges(piece["ranges"])):
                return self.tables[piece["table"].lower()].is_raw and piece["period"] == base
        return self._is_raw()

    def _is_raw(self) -> bool:
        return any(stored.is_raw for stored in self.tables.values())


# -- 6: the executed text ---------------------------------------------------------------------------------------------


def _check_edits(
    certificate: Mapping[str, Any], references: Sequence[_Reference], catalog: CatalogRecords, texts: QueryTexts
) -> None:
    """The executed text is the user's text with the listed edits, each of a known kind. Each place where the query
    names a cube has one reference.
    """
    text, made, position = certificate["query"], "", 0
    places = [reference.stated["start"] for reference in references]
    tree, executed = texts.trees
    clocks = _clocks(references, read_instant(certificate["now"]))
    if any(catalog.has_cube_or_fact(cte.alias) for cte in tree.find_all(exp.CTE)):
        raise NotUnderstood("a query in WITH that has the name of a cube or a fact")
    named = [offset_of_name(table) for table in tree.find_all(exp.Table) if catalog.has_cube_or_fact(table.name)]
    if any(table.args.get("version") for table in tree.find_all(exp.Table) if offset_of_name(table) in places):
        raise Refuted(f"the query reads a cube at another commit than {certificate['commit']}")
    if sorted(places) != sorted(start if start is not None else -1 for start in named):
        raise Refuted(f"the query names cubes at {named}, and the certificate has references at {places}")
    cubes = {reference.cube.id: reference.cube for reference in references if reference.cube is not None}
    for start, end, replacement in sorted(certificate["edits"], key=lambda edit: (edit[0], edit[1])):
        if start < position or end > len(text):
            raise Refuted("the edits overlap, or lie outside of the text")
        made += text[position:start] + replacement
        position = end
        if start in places:
            continue
        if "--" in replacement or "/*" in replacement:
            raise NotUnderstood(f"the comment {replacement.strip()[:80]}")
        given_name = re.search(r" AS (?:`(?:[^`]|``)*`|\w+)\s*$", replacement)
        if given_name is not None and start == end:
            check_name(text[:start], given_name[0])
        elif given_name is not None and given_name[0].lower() != f" as {text[start:end]}".lower():
            check_name(text[start:end], given_name[0])
    if made + text[position:] != certificate["sql"]:
        raise Refuted("the executed text differs from the query at other places than the listed ones")
    refuse_renamed_times(tree, clocks)
    sources = [table for table in tree.find_all(exp.Table) if offset_of_name(table) in places]
    TextComparison(list(cubes.values()), clocks, sources).check(tree, executed)


def _clocks(references: Sequence[_Reference], now: int) -> Clocks:
    """Returns the clocks on which the times of a query are read: one zone for all of its cubes."""
    zones = {reference.zone for reference in references}
    ranges: dict[str, list[Range]] = {}
    for reference in references:
        for piece in reference.stated["pieces"]:
            ranges.setdefault(reference.time, []).extend(read_ranges(piece["ranges"]))
        for time, of_time in reference.other_ranges.items():
            ranges.setdefault(time, []).extend(of_time)
        if any(stored.is_raw for stored in reference.tables.values()):
            ranges = {reference.time: ranges.get(reference.time, [])}  # Other times of events are anywhere.
    times = {time.lower() for r in references if r.cube is not None for time in r.cube.definition["times"]}
    merged = {time: union(of_time) for time, of_time in ranges.items()}
    return Clocks(zones.pop() if len(zones) == 1 else None, now, frozenset(times), merged)


def _check_arms(reference: _Reference, block: QueryBlock) -> None:
    """The text in place of the cube's name selects exactly the partitions of the pieces, under their own names."""
    edits, start = reference.certificate["edits"], reference.stated["start"]
    # The comparison of both texts shows that nothing else was put there.
    source = counterpart(block.source, reference.texts.trees[1])
    is_union_alone = (
        isinstance(source, exp.Subquery)
        and clauses_of(source) <= {"this", "alias"}
        and source.alias.lower() in ("", block.source.alias_or_name.lower())
        and not source.alias_column_names
        and not any("--" in made or "/*" in made for at, _, made in edits if at == start)
    )
    if not is_union_alone:
        raise NotUnderstood("what stands in place of the cube")
    arms = reference.texts.arms_at(start, source)
    names = [tuple(item.alias_or_name.lower() for item in arm.query.expressions) for arm in arms]
    if len(set(names)) > 1:
        raise Refuted("the pieces have different columns in one place")
    if block.used_columns() is None and names[0] != tuple(map(str.lower, block.cube.definition["column_order"])):
        raise NotUnderstood("* over other columns than the cube has")
    if lost := (block.own_names() | block.counters_in(reference.texts.trees[1])) - set(names[0]):
        raise NotUnderstood(f"the column {min(lost)} of the cube, which stands not in its place")
    columns = {column.name.lower() for column in reference.texts.trees[0].find_all(exp.Column)}
    if marked := {name for name in names[0] if name.startswith("rw_")} & columns:
        raise NotUnderstood(f"the name {min(marked)} in the query")
    selected: dict[str, set[tuple[str | None, ...]]] = {}
    for arm in arms:
        table, chosen = _check_arm(arm, reference, block)
        if chosen & selected.get(table, set()):
            raise Refuted(f"partitions of {table} are read twice")
        if chosen:
            selected.setdefault(table, set()).update(chosen)
    others = {time: block.condition_on(time) for time in block.other_times}
    wanted = {
        table: {values for values in starts if not reference.tables[table].is_excluded(values, others, reference.zone)}
        for table, starts in reference.selected.items()
    }
    for table, partitions in selected.items():
        # A plan may read a partition of a piece that the query's condition on another time excludes, or leave it out.
        wanted[table] = wanted.get(table, set()) | (partitions & reference.selected.get(table, {}).keys())
        stored = reference.tables[table]
        if any(not stored.has_time(values, reference.zone) for values in partitions - wanted[table]):
            raise NotUnderstood(f"partitions of {table} that name no time")
    selected, wanted = ({t: values for t, values in of.items() if values} for of in (selected, wanted))
    if selected != wanted:
        tables = sorted(table for table in selected.keys() | wanted.keys() if selected.get(table) != wanted.get(table))
        is_more = any(partitions - wanted.get(table, set()) for table, partitions in selected.items())
        if not is_more and not all(condition.is_exact for condition in others.values()):
            raise NotUnderstood(f"a condition on another time, which may leave out partitions of {', '.join(tables)}")
        raise Refuted(f"the executed text selects other partitions of {', '.join(tables)} than the pieces name")


def _check_arm(arm: ArmQuery, reference: _Reference, block: QueryBlock) -> tuple[str, set[tuple[str | None, ...]]]:
    """Returns the table of a piece's query, and the partitions that it selects."""
    query = arm.query
    assert isinstance(query, exp.Select)
    if clauses_of(query) - {"expressions", "from_", "where"}:
        raise NotUnderstood("a clause in place of the cube")
    if query.args.get("from_") is None:
        if arm.condition is None or arm.condition.sql() != "1 = 0":
            raise Refuted("rows stand in place of the cube, and no piece has any")
        return "", set()
    table = query.args["from_"].this
    stored = reference.tables.get(".".join(part.name for part in table.parts).lower())
    if stored is None:
        if table.sql("spark").lower() in reference.catalog.tables_of(reference.stated["cube"]):
            raise NotUnderstood(f"rows of {table.sql('spark')}, which no piece has: its partitions may name no time")
        raise Refuted(f"{table.sql('spark')} is no table of the facts")
    if clauses_of(table) - {"this", "db"}:
        raise NotUnderstood(f"{table.sql('spark')[:80]} in place of the cube")
    if any(column.table for column in query.find_all(exp.Column)):
        raise NotUnderstood("a column with a qualifier in place of the cube")
    catalog = reference.catalog
    # A time that is no column of events is the start of the period that a partition names.
    items = read_items(query, stored, block, reference.texts.trees[1])
    names_read = {column.name.lower() for item in items for column in item.find_all(exp.Column)}
    named = {item.alias_or_name.lower(): item for item in items}
    times = {
        name: (ComputedExpressions().read(item.unalias()), catalog.computed_by(stored.table, item))
        for name, item in named.items()
        if name in stored.others or (name == block.time and not stored.is_raw)
    }
    starts, chosen = reference.selected.get(stored.name, {}), set()
    for version, values in partitions_of_arm(arm, stored.table, catalog):
        chosen.add(version.values)
        stored.check_width(version, names_read)
        for time, (compute, computed) in times.items() if version.values in starts else ():
            start: int | None = starts[version.values]
            if time != block.time:
                start = stored.other_start(time, version.values, reference.zone)
            if version.values not in computed:
                computed[version.values] = compute(values)
            if computed[version.values] != (None if start is None else moment(start)):
                raise Refuted(f"{time} of {', '.join(map(str, version.values))} of {stored.name} is not its start")
    return stored.name, chosen
