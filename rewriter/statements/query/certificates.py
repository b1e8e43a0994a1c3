"""Certificates of queries over cubes: what a result rests on, as a value that ``rewriter.certificate`` checks.

A certificate is made only where one is asked for: it reads the records of all partitions of the cover.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from rewriter.catalog.maintenance.warehouse_identity import read_identity
from rewriter.catalog.model.temporary_views import with_typed_names
from rewriter.certificate.evidence import (
    CatalogRecords,
    Finding,
    FindingKind,
    Record,
    Verdict,
    count_rows,
    digest,
    keep,
)
from rewriter.certificate.law import FORMAT, check
from rewriter.certificate.periods import FIRST, LAST, time_text
from rewriter.errors import DataError, IntegrityError, NotSupportedError
from rewriter.grammar.lexer import TokenKind, identifier_value, tokens
from rewriter.lazy_dataclass import dataclass
from rewriter.planner.model.plan import own_text, quoted
from rewriter.runtime.result import Verification
from rewriter.timeline.civil import MAX_INSTANT, MIN_INSTANT
from rewriter.timeline.ranges import RangeSet, TimeRange
from rewriter.timeline.time_bounds import parse_instant

if TYPE_CHECKING:
    from rewriter.catalog.catalog import Catalog
    from rewriter.catalog.model.objects import Fact, StorageTable, Table
    from rewriter.catalog.reading.snapshot import Snapshot
    from rewriter.grammar.terms import Query, ReadState, ReadStates
    from rewriter.planner.model.plan import CoverPart, OpenEnd, Plan, ReferencePlan, TextEdits
    from rewriter.runtime.statement_context import Context
    from rewriter.timeline.layouts import TimeLayout
    from rewriter.timeline.timeline import OrdinalRange


def certificate_of(plan: Plan, query: Query, context: Context) -> dict[str, Any]:
    """Returns the certificate of a query, whose plan was made with ``Settings.certify``.

    Raises ``NotSupportedError`` NO_CERTIFICATE for a query of no cube, and in a transaction that has changed something.
    """
    if not plan.coverage.references or plan.text_edits is None:
        raise NotSupportedError(
            "Only a query over a cube has a certificate.",
            condition="NO_CERTIFICATE",
            position=query.span,
            hint="Name a cube in FROM. A query over tables alone reads all of their partitions.",
        )
    if context.snapshot.has_own_changes:
        raise NotSupportedError(
            "A transaction that has changed something has no certificate: no other reader sees its changes.",
            condition="NO_CERTIFICATE",
            position=query.span,
            hint="COMMIT first.",
        )
    return _certificate(plan, query, context)


def verify_plan(plan: Plan, query: Query, context: Context) -> Verification:
    """Returns the checker's verdict on the plan of a query over cubes, made with ``Settings.certify``.

    Costs a read of the records of the cover's partitions. Raises ``IntegrityError`` CERTIFICATE_REFUTED if the catalog
    contradicts the plan: one of both is wrong.
    """
    certificate = _certificate(plan, query, context)
    verdict = check(certificate, context.catalog.database.select, _records(context))
    if verdict.is_refuted:
        finding = next(finding for finding in verdict.findings if finding.kind is FindingKind.REFUTED)
        raise IntegrityError(
            f"The catalog contradicts the cover of this query. {finding}",
            condition="CERTIFICATE_REFUTED",
            position=query.span,
            hint="EXPLAIN CERTIFICATE has the evidence: report it. SET rewriter.verify = off runs the query unchecked.",
        )
    return Verification(certificate, tuple(map(str, verdict.findings)))


def check_certificate(certificate: Mapping[str, Any], catalog: Catalog) -> Verdict:
    """Checks a certificate against a catalog. A certificate of another warehouse is refuted. One that was made before
    the catalog was restored from a dump is of this warehouse.
    """
    if not isinstance(certificate, Mapping):
        return Verdict((Finding(FindingKind.NOT_UNDERSTOOD, "certificate", "a value that is no JSON object"),))
    identity = read_identity(catalog.warehouse)
    former = () if identity is None else identity.formerly
    if certificate.get("warehouse") not in (catalog.identity, *former):
        text = f"it is of the warehouse {certificate.get('warehouse')}, and this one is {catalog.identity}"
        return Verdict((Finding(FindingKind.REFUTED, "certificate", text),))
    return check(certificate, catalog.database.select)


def changes_since(certificate: Mapping[str, Any], catalog: Catalog) -> list[str]:
    """Returns how the requested time of a certificate differs today, for each table of a piece and each base table;
    empty where nothing has changed.
    """
    snapshot = catalog.snapshot()
    facts = {fact.name.lower(): fact for fact in snapshot.facts()}
    past, present = (CatalogRecords(catalog.database.select, at) for at in (certificate["commit"], snapshot.sequence))
    lines: list[str] = []
    for stated in certificate["references"]:
        requested = _read_ranges(stated["requested"])
        named = {(piece["fact"].lower(), piece["table"].lower()) for piece in stated["pieces"]}
        for fact_name in sorted({fact for fact, _ in named}):
            fact = facts.get(fact_name)
            if fact is None:
                lines.append(f"{fact_name}: the fact is no longer there")
                continue
            gone = {table for of, table in named if of == fact_name} - {stored.table.lower() for stored in fact.tables}
            lines += [f"{name}: the table is no longer there" for name in sorted(gone)]
            for stored in fact.tables:
                is_named = (fact_name, stored.table.lower()) in named
                if is_named or fact.has_base_in(stored):
                    lines += _changes_of(stored, requested, past, present, snapshot)
    return list(dict.fromkeys(lines))


def _changes_of(
    stored: StorageTable, requested: RangeSet, past: CatalogRecords, present: CatalogRecords, snapshot: Snapshot
) -> Iterator[str]:
    """Yields how many partitions of a table have changed in the requested time between two commits, and where first."""
    before, now = past.find("table", stored.table), present.find("table", stored.table)
    if before is None or now is None or before.id != now.id:
        yield f"{stored.table}: the table is no longer there"
        return
    table = snapshot.table(stored.table)
    layouts = [(period, layout, _positions(layout, table)) for period, layout in stored.layouts.items()]
    old: dict[tuple[str | None, ...], Record] = {}
    new: dict[tuple[str | None, ...], Record] = {}
    starts: dict[tuple[str | None, ...], int] = {}
    for record in present.versions(now):
        ordinals = ((period, _ordinal(layout, positions, record)) for period, layout, positions in layouts)
        start = next((period.start(ordinal) for period, ordinal in ordinals if ordinal is not None), None)
        if start is None or not requested.contains(start):
            continue
        starts[record.values] = start
        if record.is_seen(past.commit):
            old[record.values] = record
        if record.is_seen(present.commit):
            new[record.values] = record
    both = old.keys() & new.keys()
    changes = (
        ({values for values in both if digest([old[values]]) != digest([new[values]])}, "with other content"),
        (old.keys() - both, "dropped"),
        (new.keys() - both, "new"),
    )
    if any(changed for changed, _ in changes):
        first = min(starts[values] for changed, _ in changes for values in changed)
        counts = ", ".join(f"{len(changed)} {text}" for changed, text in changes if changed)
        yield f"{stored.table}: partitions {counts}, the first at {_text(first)}"


def _records(context: Context) -> CatalogRecords:
    """Returns the records of the commit that a statement reads: those of the last certificate, or new ones."""
    records = context.prepared.records
    if records is None or records.commit != context.snapshot.sequence:
        records = CatalogRecords(context.catalog.database.select, context.snapshot.sequence)
        context.prepared.records = records
    return records


def _certificate(plan: Plan, query: Query, context: Context) -> dict[str, Any]:
    assert plan.text_edits is not None
    records, planning = _records(context), context.planning
    texts = _texts_with_states(plan.text_edits, query.states)
    return {
        "format": FORMAT,
        "query": texts.query,
        "sql": texts.sql,
        "edits": [list(edit) for edit in texts.edits],
        "parameters": {name: str(value) for name, value in plan.parameters.items()},
        "typed": texts.typed,
        "database": context.snapshot.current,
        "temporary_views": _temporary_views(plan.text_edits.typed, context),
        "warehouse": records.warehouse,
        "commit": context.snapshot.sequence,
        **_stated_states(query.states),
        "now": _text(int(planning.now)),
        "settings": {
            "partial_data": planning.partial_data,
            "strict_bounds": planning.strict_bounds,
            "periods": None if planning.periods is None else sorted(period.name for period in planning.periods),
            "cover_cost": ("work" if planning.scan_bytes else "bytes") if planning.cost_in_bytes else "partitions",
        },
        "references": [
            _reference(reference, texts.moved(reference.offset), records, context)
            for reference in plan.coverage.references
        ],
    }


def _temporary_views(typed: str, context: Context) -> dict[str, Any]:
    """Returns the temporary views whose names a text, or the query of such a view, contains: only the session has
    them.
    """
    views = {with_typed_names(view.name).lower(): view for view in context.snapshot.temporary_views.by_name.values()}
    texts, named = [typed.lower()], dict[str, Any]()
    while texts:
        text = texts.pop()
        for name in [name for name in views.keys() - named.keys() if name in text]:
            named[name] = {
                "query": views[name].query,
                "columns": [column for column, _ in views[name].columns],
                "database": views[name].database,
            }
            texts.append(views[name].query.lower())
    return named


def _reference(reference: ReferencePlan, start: int, records: CatalogRecords, context: Context) -> dict[str, Any]:
    return {
        "cube": reference.cube,
        "alias": reference.alias,
        "start": start,
        "zone": reference.calendar.zone,
        "requested": _ranges(reference.requested),
        "missing": _ranges(reference.missing),
        "outdated": _ranges(reference.outdated),
        "open_begin": _open_end(reference.open_begin),
        "open_end": _open_end(reference.open_end),
        "inexact": list(reference.inexact),
        "base_only_because": [str(reason) for reason in reference.reasons],
        "pieces": [_piece(part, records, context) for part in reference.parts],
    }


def _piece(part: CoverPart, records: CatalogRecords, context: Context) -> dict[str, Any]:
    fact = context.snapshot.fact(part.fact)
    stored = next(stored for stored in fact.tables if stored.table.lower() == part.table.lower())
    table = context.snapshot.table(part.table)
    seen, rows, content_digest = _stated_content(part, stored.layouts[part.period], table, records)
    ranges = [(part.period.start(range_.start), part.period.start(range_.end)) for range_ in part.ranges]
    return {
        "fact": part.fact,
        "storage": part.storage,
        "table": part.table,
        "period": part.period.name,
        "ranges": [[_text(start), _text(end)] for start, end in ranges],
        "periods": part.partitions,
        "partitions": len(seen),
        "rows": rows,
        "digest": content_digest,
        "rests_on": _rests_on(part, fact, stored, seen, table.external, records),
    }


def _stated_content(
    part: CoverPart, layout: TimeLayout, table: Table, records: CatalogRecords
) -> tuple[Sequence[Record], int | None, str]:
    """Returns the partitions of a part, the number of their rows, and their digest."""
    stored_table = records.find("table", part.table)
    if stored_table is None:
        return [], 0, digest([])
    key = part.fact, stored_table.id, part.period.name, tuple(part.ranges)
    if key in records.stated:
        return records.stated[key]
    positions = _positions(layout, table)
    wanted = {ordinal for range_ in part.ranges for ordinal in range(range_.start, range_.end)}
    ordinals = records.ordinals.setdefault((stored_table.id, part.period.name), {})
    seen = []
    for record in records.versions_in(stored_table, _texts(layout, table, part.ranges)):
        if record.values not in ordinals:
            ordinals[record.values] = _ordinal(layout, positions, record)
        if ordinals[record.values] in wanted and record.is_seen(records.commit):
            seen.append(record)
    content = seen, count_rows(seen), digest(seen)
    keep(records.stated, key, content)
    return content


def _texts(layout: TimeLayout, table: Table, ranges: Sequence[OrdinalRange]) -> list[tuple[str, str | None]]:
    """Returns the first and the last text of the first partition column in ranges of periods, in order and apart from
    each other, if its texts have the order of time; else one range of all texts.
    """
    column = table.partition_columns[0]
    is_first = layout.columns[0].lower() == column.name.lower()
    if not is_first or column.type not in ("string", "date") or not layout.text_ordered:
        return [("", None)]
    texts: list[tuple[str, str | None]] = []
    for range_ in sorted(ranges, key=lambda range_: range_.start):
        low, high = layout.values(range_.start)[0], layout.values(range_.end - 1)[0]
        if texts and low <= (texts[-1][1] or ""):
            low = texts.pop()[0]
        texts.append((low, high))
    return texts


def _positions(layout: TimeLayout, table: Table) -> list[int]:
    """Returns the positions of a layout's columns among the partition columns of its table."""
    names = [column.name.lower() for column in table.partition_columns]
    return [names.index(column.lower()) for column in layout.columns]


def _ordinal(layout: TimeLayout, positions: Sequence[int], record: Record) -> int | None:
    """Returns the period that a partition names in a layout; ``None`` if it names none."""
    times = [record.values[position] for position in positions]
    try:
        return None if None in times else layout.ordinal(times)
    except DataError:
        return None


def _rests_on(
    part: CoverPart, fact: Fact, stored: StorageTable, seen: Sequence[Record], external: bool, records: CatalogRecords
) -> list[dict[str, Any]]:
    """Returns why the content of a piece is right: each reason once."""
    reasons: list[dict[str, Any]] = []
    if fact.is_base(stored, part.period):
        reasons.append({"kind": "base"})
    elif stored.trusted:
        reasons.append({"kind": "trusted", "table": part.table.lower()})
    else:
        reasons.append({"kind": "computed", "base_commit": max((record.as_of for record in seen), default=0)})
    if external:
        reasons.append({"kind": "external", "table": part.table.lower()})
    origins = {(origin["kind"], origin["table"]) for record in seen for origin in record.origins}
    tables = {id: table.name.lower() for _, id in origins if (table := records.table(id)) is not None}
    named = {(kind, tables.get(id, str(id))) for kind, id in origins}
    return reasons + [{"kind": kind, "table": table} for kind, table in sorted(named)]


def _text(at: int) -> str | None:
    return time_text(FIRST if at <= MIN_INSTANT else LAST if at >= MAX_INSTANT else at)


def _ranges(ranges: RangeSet) -> list[list[str | None]]:
    return [[_text(range_.start), _text(range_.end)] for range_ in ranges]


def _read_ranges(texts: Sequence[Sequence[str | None]]) -> RangeSet:
    return RangeSet(
        TimeRange(
            MIN_INSTANT if start is None else parse_instant(start), MAX_INSTANT if end is None else parse_instant(end)
        )
        for start, end in texts
    )


def _open_end(end: OpenEnd | None) -> dict[str, Any] | None:
    return None if end is None else {"at": _text(end.at), "reason": end.reason}


# -- The texts: the user's query with its clauses AS OF, and the executed SQL
#
# The planner sees no clause: in its text, blanks or a name such as `@1` stand there. In the SQL, a name without a
# clause is read at the certificate's commit, and any other one as `t VERSION AS OF 3`.

#: Differences of a text from another one, in order: first and last offset there, and the text in that place.
_Edits = tuple[tuple[int, int, str], ...]


@dataclass(frozen=True)
class _Texts:
    """The texts of a certificate. ``edits`` are the differences of ``sql`` from ``query``, and ``from_planned``
    those of ``query`` from the text as planned. ``typed`` is the user's text where ``query`` is another one.
    """

    query: str
    sql: str
    edits: _Edits
    typed: str | None
    from_planned: _Edits

    def moved(self, offset: int) -> int:
        """Returns the offset in the query of an offset in the text as planned."""
        return _moved(offset, self.from_planned)


def _stated_states(states: ReadStates | None) -> dict[str, Any]:
    """Returns the members of a certificate that name the commits of a query's clauses AS OF; none without clauses."""
    if states is None:
        return {}
    listed = [{"start": c.clause.start, "end": c.clause.end, "commit": c.commit} for c in states.clauses]
    return {"newest_commit": states.newest, "states": listed}


def _texts_with_states(edits: TextEdits, states: ReadStates | None) -> _Texts:
    """Returns the texts of a certificate, in which the clauses AS OF are as the user wrote them. Where the queries of
    views or copies stand in the query, ``typed`` has the user's words, and the query ``VERSION AS OF`` with a number.
    """
    assert states is None or edits.typed == states.planned
    is_typed = edits.typed == edits.text
    typed = None if is_typed else edits.typed if states is None else states.text
    changes = () if states is None else tuple(_changes(edits, states))
    from_planned = tuple((change.start, change.end, change.query) for change in changes)
    made = [(_moved(c.start, from_planned), _moved(c.end, from_planned), c.sql) for c in changes]
    for replaced in edits.replacements:
        start, end = replaced.span.start, replaced.span.end
        # The place of a clause has its own text.
        if not any(change.start <= start < change.end for change in changes):
            made.append((_moved(start, from_planned), _moved(end, from_planned), own_text(replaced.template)))
    made.sort(key=itemgetter(0, 1))
    query = _edited(edits.text, from_planned)
    return _Texts(query, _edited(query, made), tuple(made), typed, from_planned)


def _edited(text: str, edits: Sequence[tuple[int, int, str]]) -> str:
    made, position = "", 0
    for start, end, replacement in edits:
        made += text[position:start] + replacement
        position = end
    return made + text[position:]


def _moved(offset: int, edits: _Edits) -> int:
    """Returns an offset behind edits of a text, none of which has it inside."""
    return offset + sum(len(text) - (end - start) for start, end, text in edits if end <= offset)


@dataclass(frozen=True)
class _Change:
    """A stretch of the text as planned, and what stands in its place in the query and in the executed SQL."""

    start: int
    end: int
    query: str
    sql: str


def _changes(edits: TextEdits, states: ReadStates) -> Iterator[_Change]:
    """Yields the places of the planned text where a clause stood, in order."""
    if edits.typed == edits.text:
        for clause in states.clauses:
            start = clause.clause.start if clause.table is None else clause.name.start
            blanks = edits.text[start : clause.clause.end]
            sql = blanks if clause.table is None else _table_at(clause.table, clause, states)
            yield _Change(start, clause.clause.end, states.text[start : clause.clause.end], sql)
        return
    by_name = {f"@{number}": clause for number, clause in enumerate(states.clauses, 1)}
    for token in tokens(edits.text) if any(clause.table is not None for clause in states.clauses) else ():
        of_mark = by_name.get(identifier_value(token)) if token.kind is TokenKind.IDENTIFIER else None
        if of_mark is not None and of_mark.table is not None:
            name = states.text[of_mark.name.start : of_mark.name.end]
            sql = _table_at(of_mark.table, of_mark, states)
            yield _Change(token.start, token.end, f"{name} VERSION AS OF {of_mark.commit}", sql)


def _table_at(table: str, clause: ReadState, states: ReadStates) -> str:
    """Returns the executed text of a table at a commit: under its name as typed, where that has a database."""
    name = states.text[clause.name.start : clause.name.end]
    return f"{name if '.' in name or name.lower() == table else quoted(table)} VERSION AS OF {clause.commit}"
