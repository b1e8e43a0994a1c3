"""REFRESH FACT: recomputes the rollups that are missing or outdated from the base period."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rewriter.catalog.commit.refresh_claims import ClaimRequest
from rewriter.catalog.facts.time_binding import time_values
from rewriter.catalog.model.changes import PartitionWrite, WritePartitions
from rewriter.catalog.model.objects import Column, Cube, Fact, PartitionValues, Table
from rewriter.errors import ConflictError, DataError, Error, InternalError
from rewriter.exec.engine import Write, WrittenFile
from rewriter.grammar.families import timelines as s
from rewriter.lazy_dataclass import dataclass
from rewriter.planner.cover.arms import time_of, uses_of
from rewriter.planner.cover.validity import window
from rewriter.planner.model.coverage_chart import overlapping
from rewriter.planner.model.plan import Reading, SqlTemplate, TableToken, quote_identifier
from rewriter.planner.rewrite.union_arms import (
    columns_of_values,
    constructed,
    edge_of,
    relation,
    rolled_up,
    values_of_events,
)
from rewriter.planner.text.clock_places import WEEK_FIELDS
from rewriter.planner.text.literals import string_literal
from rewriter.planner.zones.zoned_expressions import wall_time
from rewriter.runtime.heartbeat import heartbeat
from rewriter.runtime.progress import Progress
from rewriter.runtime.result import Result, Row, listing, strings
from rewriter.runtime.statement_runners import runs
from rewriter.statements.maintain.check_fact import (
    base_arms,
    complete_base_time,
    engine_query,
    file_listings,
    inside,
    ordinals_of,
    period_start,
)
from rewriter.statements.query.not_null_measures import check_declared
from rewriter.statements.query.routing import place_on_cluster
from rewriter.statements.resolve.fact_periods import (
    StoredPeriod,
    base_periods,
    carried,
    first_periods,
    passed_time,
    stored_periods,
    surplus_columns,
    times,
    within,
)
from rewriter.statements.resolve.named_objects import named_fact
from rewriter.statements.resolve.partition_specs import key_range
from rewriter.statements.show.coverage import asked
from rewriter.statements.write.external_base_changes import base_time, note_listed, read_files
from rewriter.statements.write.managed_write import WriteChange, group_files, write_managed
from rewriter.statements.write.sink_choice import grouped_sink, packing_of
from rewriter.timeline.calendars import ZonedPeriod
from rewriter.timeline.layouts import DATE, TIMESTAMP, TimeLayout
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.ranges import RangeSet, TimeRange

if TYPE_CHECKING:
    from rewriter.catalog.commit.transaction import Writer
    from rewriter.planner.cover.arms import Arm
    from rewriter.runtime.statement_context import Context

#: The status of base partitions that were computed from other content, which has changed.
_LEFT_TO_INSERT = "left: it is base content that an INSERT has computed from other tables; run that INSERT again"


@runs(s.RefreshFact)
def refresh_fact(statement: s.RefreshFact, context: Context) -> Result:
    """Recomputes every rollup partition that is missing or unused and whose base is complete; with FORCE also fresh
    ones, with MAX at most that many, the oldest of each table first.

    The files of external tables are listed first: changes of the base outdate rollups, and accepted rollups whose
    files have changed are unproven. Rollups over a base whose directory does not exist, or may not be read, are
    skipped, and stay as they are; warnings name the directories. Rows of (table, period, from, to, was, status,
    partitions). ``was`` is ``missing``, ``outdated``, ``incomplete``, ``unproven``, ``open`` or
    ``fresh``; ``status`` is ``refreshed``, ``to refresh`` with DRY RUN, or begins with ``skipped`` or ``left`` and the
    reason. Open rollups are skipped. Partitions that share time with the range are included. Runs one query and one
    transaction for each (storage table, period), all of them over the state at the statement's start. Later changes
    outdate the partitions again, and the rows report that.

    With MAX, the partitions are claimed first, so that other statements with MAX leave them alone; each transaction
    works over the state at its claim. A claim ends with its transaction, or when its process was silent for
    ``rewriter.claim_seconds``.

    Raises ``ConflictError`` (retryable) where another transaction wrote the same partitions meanwhile. Partitions
    that were refreshed before stay so.
    """
    fact = named_fact(statement.fact, context)
    cube = context.snapshot.cube(fact.cube)
    existing = complete_base_time(base_periods(fact), context)
    for stored in base_periods(fact):
        for time in _stale_base(stored, context).values():
            existing |= time
    everything = TimeRange(existing.ranges[0].start, existing.ranges[-1].end) if existing else None
    requested = asked(statement, fact, context, everything)
    rows: list[Row] = []
    left = statement.most
    try:
        changed_time, unlisted = _listed_files(fact, requested, statement.dry_run, context)
        if not statement.dry_run:
            context = context.renewed()
        unnoted = changed_time if statement.dry_run else RangeSet.EMPTY
        search = _Search(cube, requested, unnoted, unlisted, statement.force)
        for stored in stored_periods(fact):
            if stored.is_base:
                rows += _unfilled(stored, cube, requested, context)
                continue
            if left is None:
                rows += _refresh(search.of(stored, context), statement.dry_run, context)
            else:
                share, share_rows = _refresh_share(stored, search, left, statement.dry_run, context)
                rows += share_rows
                left -= share
    except Error as error:
        error.position = None  # The position was in a generated query.
        raise error.at(statement.fact.span) from None
    columns = (*strings("table", "period", "from", "to", "was", "status"), Column("partitions", "bigint"))
    result = listing("REFRESH FACT", columns, rows)
    return replace(result, warnings=tuple(_warnings(unlisted)))


@dataclass(frozen=True)
class _UnlistedTime:
    """A partition of an external table that cannot be listed: the table, the reason, and the time of its base rows,
    which is empty for a rollup.
    """

    table: str
    reason: str
    time: RangeSet


def _listed_files(
    fact: Fact, requested: RangeSet, dry_run: bool, context: Context
) -> tuple[RangeSet, tuple[_UnlistedTime, ...]]:
    """Lists the files of external bases inside the rollup periods that share time with the range, and of accepted
    external rollups.

    Returns the time in which some files of bases have changed, and the partitions that cannot be listed. The changes
    are committed, unless it is a dry run.
    """
    changed_time = RangeSet.EMPTY
    unlisted: list[_UnlistedTime] = []
    for binding, files in file_listings(fact, requested, context):
        changed_time |= base_time(binding, files.changed.values())
        for lost in files.unlisted:
            reason = lost.error.message[:1].lower() + lost.error.message[1:].rstrip(".")
            unlisted.append(_UnlistedTime(files.table.name, reason, base_time(binding, (lost.partition,))))
        if not dry_run:
            note_listed(files, context)
    return changed_time, tuple(unlisted)


def _warnings(unlisted: Sequence[_UnlistedTime]) -> Iterator[str]:
    for table, group in itertools.groupby(unlisted, key=lambda lost: lost.table):
        yield f"{table} cannot be listed completely: {_shortened(list(group))}."


def _shortened(unlisted: Sequence[_UnlistedTime]) -> str:
    """Returns the first of the reasons, and the number of the others."""
    others = f"; {len(unlisted) - 1:,} more directories cannot be listed" if len(unlisted) > 1 else ""
    return f"{unlisted[0].reason}{others}"


@dataclass(frozen=True)
class _Search:
    """A search for rollups that need a refresh, in a range.

    ``unnoted`` is the time of changes of files that a dry run found, which the timelines do not contain.
    """

    cube: Cube
    requested: RangeSet
    unnoted: RangeSet
    unlisted: Sequence[_UnlistedTime]
    forced: bool

    def of(self, stored: StoredPeriod, context: Context) -> _Rollups:
        """Returns the rollups of a storage table and period by their state in the context's snapshot. O(ranges).

        The base may have lost periods since the statement began. Raises ``ConflictError`` if the objects have changed.
        """
        snapshot, fact = context.snapshot, stored.fact
        if snapshot.fact(fact.name) != fact or snapshot.cube(fact.cube) != self.cube:
            raise ConflictError(
                f"the fact {fact.name} or its cube was changed during REFRESH FACT",
                condition="CONCURRENT_WRITE",
                object=fact.name,
                hint="Run the statement again.",
            )
        table, period = snapshot.table(stored.table.table), stored.period
        existing = complete_base_time(base_periods(fact), context)
        unused = {
            was: inside(line(table.name, period, stored.table.time).ranges(), period, self.requested)
            for was, line in context.snapshot.unused_timelines.items()
        }
        fresh_ranges = context.snapshot.timeline(table.name, period, stored.table.time).ranges()
        by_files = inside(fresh_ranges, period, self.unnoted)
        unused["outdated"] |= by_files
        fresh = times(period, fresh_ranges) - by_files
        stale = RangeSet(range_ for time in unused.values() for range_ in time)
        filled = inside(context.snapshot.open(table.name, period, stored.table.time).ranges(), period, self.requested)
        valid = window(stored.storage, stored.table, context.planning.now, stored.fact.calendar)
        whole = inside(ordinals_of(period, within(period, existing & valid)), period, self.requested)
        # A rollup that RETAIN does not keep would leave again.
        passed = RangeSet.EMPTY if self.forced else passed_time(stored, int(context.planning.now)) - stale
        missing = whole - fresh - stale - filled - passed
        lacking = snapshot.lacking(table.name, period, stored.table.time).ranges()
        # Rollups whose base has left stay as they are, and serve queries that need no new column.
        narrow = inside(lacking, period, self.requested) & fresh & whole - passed
        forced = whole & fresh - narrow if self.forced else RangeSet.EMPTY
        by_state = {"missing": missing, "fresh": forced, "narrow": narrow, **unused}
        unlisted = [lost for lost in self.unlisted if lost.time & whole]
        unlisted_time = RangeSet(range_ for lost in unlisted for range_ in lost.time)
        computable = whole - times(period, ordinals_of(period, unlisted_time))
        recomputed = ((whole - fresh - filled - passed) | forced | narrow) & computable
        return _Rollups(stored, table, self.cube, by_state, whole, unlisted, computable, recomputed, filled)


@dataclass(frozen=True)
class _Rollups:
    """The rollups of a storage table and period, by their state, and the time of the rollups to recompute.

    ``whole`` is the time of the rollups whose base exists, and ``computable`` of the rollups whose base can also be
    listed; ``unlisted`` is the base that cannot. ``filled`` is the time of the rollups that are open: a stream fills
    them, and its rows would be lost, or come twice.
    """

    stored: StoredPeriod
    table: Table
    cube: Cube
    by_state: Mapping[str, RangeSet]
    whole: RangeSet
    unlisted: Sequence[_UnlistedTime]
    computable: RangeSet
    recomputed: RangeSet
    filled: RangeSet

    @property
    def obstacle(self) -> str | None:
        return obstacle(self.stored, self.table, self.cube)

    def request(self, most: int, expiry_seconds: float) -> ClaimRequest:
        """Returns the wish to claim the oldest ``most`` rollups that no worker has claimed."""
        period, wanted = self.stored.period, self.recomputed
        return ClaimRequest(
            self.table.id, period, lambda taken: first_periods(period, wanted - taken, most), expiry_seconds
        )

    def refused(self, reason: str) -> Iterator[Row]:
        """Yields the rows of a table that is not refreshed."""
        for was, time in self.by_state.items():
            yield from self._rows(time, was, reason)

    def rows(self, time: RangeSet, status: str) -> Iterator[Row]:
        """Yields the rows of what is recomputed in a time."""
        for was, state_time in self.by_state.items():
            yield from self._rows(self.recomputed & time & state_time, was, status)

    def skipped(self) -> Iterator[Row]:
        """Yields the rows of unused rollups that nothing computes, and of rollups that a stream fills."""
        for was, time in self.by_state.items():
            for range_ in time & (self.whole - self.computable):
                lost = [base for base in self.unlisted if base.time & RangeSet.of(range_)]
                yield from self._rows(RangeSet.of(range_), was, f"skipped: {_shortened(lost)}")
            yield from self._rows(time - self.whole, was, "skipped: its base is incomplete")
        yield from self._rows(self.filled, "open", "skipped: a stream still fills it")

    def refresh(self, time: RangeSet, context: Context, transaction: Writer | None = None) -> Iterator[Row]:
        """Recomputes a part of ``recomputed``, and yields its rows. One query, one commit."""
        period = self.stored.period
        count = sum(len(overlapping(period, range_)) for range_ in time)
        refreshing = Progress("refreshing", 0, count, "partitions", subject=self.table.name)
        with context.progress.within(refreshing, count):
            _write(self.stored, self.table, self.cube, time, context, transaction)
        after = context.catalog.snapshot().timeline(self.table.name, period, self.stored.table.time)
        unfinished = time - times(period, after.ranges())
        again = "outdated again: its base has changed in the meantime"
        yield from self._rows(unfinished, "outdated", again)
        yield from self.rows(time - unfinished, "refreshed")

    def _rows(self, time: RangeSet, was: str, status: str) -> Iterator[Row]:
        for range_ in time:
            texts = (self.cube.calendar.text(range_.start), self.cube.calendar.text(range_.end))
            count = len(overlapping(self.stored.period, range_))
            yield (self.table.name, self.stored.period.name, *texts, was, status, count)


def _unfilled(stored: StoredPeriod, cube: Cube, requested: RangeSet, context: Context) -> Iterator[Row]:
    """Yields the base partitions that rest on content of other facts that has changed: only their INSERT knows how to
    compute them.
    """
    name, period = stored.table.table, stored.period
    outward = RangeSet(TimeRange(period.floor(range_.start), period.ceil(range_.end)) for range_ in requested)
    for was, stale in _stale_base(stored, context).items():
        for time in stale & outward:
            texts = (cube.calendar.text(time.start), cube.calendar.text(time.end))
            yield name, period.name, *texts, was, _LEFT_TO_INSERT, len(overlapping(period, time))


def _stale_base(stored: StoredPeriod, context: Context) -> dict[str, RangeSet]:
    """Returns the time of base partitions whose origins have changed, by their state."""
    snapshot, key = context.snapshot, (stored.table.table, stored.period, stored.table.time)
    return {
        was: times(stored.period, snapshot.unused_timelines[was](*key).ranges()) for was in ("outdated", "unproven")
    }


def _refresh(rollups: _Rollups, dry_run: bool, context: Context) -> Iterator[Row]:
    reason = rollups.obstacle
    if reason is not None:
        yield from rollups.refused(reason)
        return
    if dry_run:
        yield from rollups.rows(rollups.recomputed, "to refresh")
    elif rollups.recomputed:
        yield from rollups.refresh(rollups.recomputed, context)
    yield from rollups.skipped()


def _refresh_share(
    stored: StoredPeriod, search: _Search, most: int, dry_run: bool, context: Context
) -> tuple[int, list[Row]]:
    """Refreshes at most ``most`` partitions that no other statement has claimed. Returns their number, and the rows."""
    period, catalog = stored.period, context.catalog
    rollups = search.of(stored, context)
    reason = rollups.obstacle
    if reason is not None:
        return 0, list(rollups.refused(reason))
    share, rows = RangeSet.EMPTY, list[Row]()
    if dry_run:
        share = first_periods(period, rollups.recomputed - catalog.claimed_time(rollups.table, period), most)
        rows += rollups.rows(share, "to refresh")
    while most and rollups.recomputed and not share and not dry_run:
        expiry = context.settings.claim_seconds
        transaction, claimed = catalog.begin_claiming(context.snapshot.session, rollups.request(most, expiry))
        with transaction, heartbeat(transaction, expiry):
            context = context.over(transaction.snapshot)
            rollups = search.of(stored, context)
            if not claimed:
                break
            # Rollups that other workers have refreshed in the meantime are not refreshed again.
            share = rollups.recomputed & claimed
            if share:
                rows += rollups.refresh(share, context, transaction)
    remaining = rollups.recomputed - share
    claimed_by_others = catalog.claimed_time(rollups.table, period) if remaining else RangeSet.EMPTY
    rows += rollups.rows(remaining - claimed_by_others, "left: MAX was reached")
    rows += rollups.rows(remaining & claimed_by_others, "left: another statement refreshes it")
    return sum(len(overlapping(period, range_)) for range_ in share), [*rows, *rollups.skipped()]


def obstacle(stored: StoredPeriod, table: Table, cube: Cube) -> str | None:
    """Returns why the table is not refreshed; ``None`` if it is."""
    if not stored.fact.base_period.nests_in(stored.period):
        return f"skipped: {stored.fact.base_period.name} periods do not add up to {stored.period.name} ones"
    if table.external:
        return "skipped: the table is external"
    if stored.table.trusted:
        return "skipped: the table is TRUSTED"
    _, measures = carried(stored.fact.columns_of(stored.table), cube)
    rounded = set(cube.rounded_sums(table)) & {measure.name for measure in measures}
    if rounded:
        return f"skipped: {min(rounded)} is FLOAT in this table, which would round its sums"
    surplus = surplus_columns(stored, table, cube)
    owner = "the fact" if stored.table.columns is None else "the fact's list of columns of this table"
    return f"skipped: {owner} has no column {surplus[0]}" if surplus else None


def _write(
    stored: StoredPeriod,
    table: Table,
    cube: Cube,
    recomputed: RangeSet,
    context: Context,
    transaction: Writer | None = None,
) -> None:
    arms = base_arms(base_periods(stored.fact), recomputed, context)
    uses = uses_of(arms)
    context = place_on_cluster(uses, context.writing(table))
    query = engine_query(_rollup_query(stored, table, cube, arms), uses, context)

    def fill(folder: str) -> tuple[WrittenFile, ...]:
        sink = grouped_sink(context)
        write = Write(
            folder,
            table.format,
            table.columns,
            table.partition_columns,
            packing=packing_of(table, sink),
            options=table.file_options,
            sink=sink,
        )
        files = tuple(file for file in context.engine().write(query, write) if file.rows != 0)
        check_declared(table, files, context)
        return files

    def change(write_id: int, files: Sequence[WrittenFile]) -> list[WriteChange]:
        by_values = group_files(files)
        layout, runs = stored.table.layouts[stored.period], ordinals_of(stored.period, recomputed)
        ordinals = (ordinal for run in runs for ordinal in range(run.start, run.end))
        period = stored.period
        # A date that a zone leaves out has no partition.
        values_of_times = [
            time_values(table, layout, ordinal) for ordinal in ordinals if period.start(ordinal) < period.end(ordinal)
        ]
        targets = list(_targets(stored, table, values_of_times, by_values.keys()))
        if by_values.keys() - set(targets):
            if stored.fact.is_raw:
                raise _misplaced(stored.fact)
            raise InternalError(f"rows of {table.name} belong to partitions that were not selected for the refresh")
        parts = tuple(PartitionWrite(values, by_values.get(values, ())) for values in targets)
        # All other partitions of the periods become empty.
        wipes = tuple(key_range(table, time) for time in values_of_times) if stored.table.parted else ()
        return [WritePartitions(table, write_id, parts, overwrite=True, wipes=wipes)]

    listings = read_files(table, uses, query.relations, context)
    write_managed(table, fill, change, (Reading(uses),), context, listings, transaction)


def _misplaced(fact: Fact) -> DataError:
    events = next(table.table for table in fact.tables if table.raw is not None)
    return DataError(
        f"Events of {events} lie outside the periods of their partitions.",
        condition="TIME_OUTSIDE_PARTITION",
        object=events,
        hint=f"CHECK FACT {fact.name} lists the partitions. Write these events into the partitions of their time.",
    )


def _targets(
    stored: StoredPeriod, table: Table, named_values: Sequence[PartitionValues], computed: Collection[PartitionValues]
) -> Iterator[PartitionValues]:
    """Yields the partitions that some periods consist of afterwards: those with rows, and empty ones to make them
    complete.
    """
    if not stored.table.parted:
        yield from named_values
        return
    rules = {rule.column.lower(): rule.values for rule in stored.table.complete}
    # The columns behind the columns of the leading time; another time may have any value.
    required_values = [rules.get(column.name.lower()) for column in table.partition_columns[len(named_values[0]) :]]
    targets_by_time: dict[PartitionValues, list[PartitionValues]] = {time: [] for time in named_values}
    for values in computed:
        targets_by_time.setdefault(values[: len(named_values[0])], []).append(values)
    for time in named_values:
        yield from targets_by_time[time]
        yield from _lacking(required_values, time, targets_by_time[time])


def _lacking(
    required_values: Sequence[tuple[str | None, ...] | None],
    time: PartitionValues,
    existing_partitions: Sequence[PartitionValues],
) -> Iterator[PartitionValues]:
    """Yields the partitions that COMPLETE WITH requires and that do not exist. Where any value serves, NULL does."""
    existing = {
        tuple(
            None if required is None else value
            for value, required in zip(values[len(time) :], required_values, strict=True)
        )
        for values in existing_partitions
    }
    for combination in itertools.product(*((None,) if required is None else required for required in required_values)):
        if combination not in existing:
            yield (*time, *combination)


# The query of REFRESH FACT: the base of a fact, aggregated to the periods of a rollup table.


def _rollup_query(stored: StoredPeriod, table: Table, cube: Cube, arms: Sequence[Arm]) -> SqlTemplate:
    """Returns the base aggregated to the period, with the columns in the table's order, then the partition columns."""
    dimensions, measures = carried(stored.fact.columns_of(stored.table), cube)
    layouts = _layouts_of(stored)
    starts = {time: f"t{number}" for number, time in enumerate(layouts)}
    groups = [*starts.values(), *(f"d{number}" for number in range(len(dimensions)))]
    values = {column.name.lower(): f"d{number}" for number, column in enumerate(dimensions)}
    types = {column.name.lower(): column.type.upper() for column in table.columns}
    values |= {
        measure.name.lower(): f"CAST(v{number} AS {types[measure.name.lower()]})"
        for number, measure in enumerate(measures)
    }
    calendar = cube.calendar
    for time, start in starts.items():
        values[time.lower()] = start
        start_name = start
        if isinstance(stored.period, ZonedPeriod):
            # The first rows of another time may lie inside a period, which begins before them.
            rows = time_of(arms, time, calendar)
            start_name = wall_time(calendar, start, TimeRange(stored.period.floor(rows.start), rows.end))
        values |= _time_texts(layouts[time], start_name)
    values = {name: f"CAST(NULL AS {type_})" for name, type_ in types.items()} | values
    items = [f"{values[column.name.lower()]} AS {quote_identifier(column.name)}" for column in table.all_columns]
    numbers, keys = range(len(measures)), ", ".join(groups)
    values_by_number = values_of_events(arms, cube, measures)
    rolled = [
        constructed(measure, f"m{n}") if n in values_by_number else rolled_up(measures, n, "m{}".format, f"w{n}")
        for n, measure in enumerate(measures)
    ]
    rolled = [f"{sql} AS v{number}" for number, sql in enumerate(rolled)]
    edges = [edge_of(measures, number, "m{}".format, keys) for number in numbers]
    newest = "".join(f", {edge} AS w{number}" for number, edge in enumerate(edges) if edge is not None)
    cut = {time: period_start(stored.period, time, arms, calendar) for time in starts}
    start_items = [f"{cut[time]} AS {start}" for time, start in starts.items()]
    start_items += [f"{quote_identifier(column.name)} AS d{number}" for number, column in enumerate(dimensions)]
    start_items += [
        f"{f'rw_value{number}' if number in values_by_number else quote_identifier(measure.name)} AS m{number}"
        for number, measure in enumerate(measures)
    ]
    stored_measures = [measure.name for number, measure in enumerate(measures) if number not in values_by_number]
    columns = [*starts, *(column.name for column in dimensions), *stored_measures]
    parts: list[str | TableToken] = [
        f"SELECT {', '.join(items)} FROM (SELECT {', '.join([*groups, *rolled])} FROM "
        f"{f'(SELECT *{newest} FROM ' * bool(newest)}(SELECT {', '.join(start_items)} FROM ",
        *relation(arms, cube, columns, columns_of_values(values_by_number)),
        f" AS base){' AS rows)' * bool(newest)} AS plain GROUP BY {', '.join(groups)}) AS rolled",
    ]
    return SqlTemplate(tuple(parts))


def _layouts_of(stored: StoredPeriod) -> dict[str, TimeLayout]:
    """Returns how the partitions of the place name each time dimension, the leading one first."""
    table, period = stored.table, stored.period
    return {table.time: table.layouts[period]} | {other.time: other.layouts[period] for other in table.others}


#: The position of a layout's field in a timestamp's text: start from 1, and width.
_FIELDS = {"yyyy": (1, 4), "MM": (6, 2), "dd": (9, 2), "HH": (12, 2), "mm": (15, 2)}


def _time_texts(layout: TimeLayout, t: str) -> dict[str, str]:
    """Returns each time partition column's value for the period that begins at the wall time ``t``, as SQL; NULL of
    NULL.
    """
    sample = layout.values(0)
    texts: dict[str, str] = {}
    for index, part in enumerate(layout.parts):
        if part.type in (DATE, TIMESTAMP):
            # A day of a zone that begins with a gap is still named by its midnight.
            whole_days = part.type == TIMESTAMP and layout.period >= UpdatePeriod.DAILY
            date_expression = f"date_trunc('DAY', {t})" if whole_days else t
            texts[part.column.lower()] = f"CAST({date_expression} AS {part.type.upper()})"
            continue
        pieces: list[str] = []
        position = 0
        for field, start, width in layout.fields(index):
            if position < start:
                pieces.append(string_literal(sample[index][position:start]))
            pieces.append(_field(field, t))
            position = start + width
        if position < len(sample[index]):
            pieces.append(string_literal(sample[index][position:]))
        text = f"concat({', '.join(pieces)})" if len(pieces) > 1 else pieces[0]
        texts[part.column.lower()] = f"CAST({text} AS {part.type.upper()})" if part.is_number else text
    return texts


def _field(field: str, t: str) -> str:
    if field in WEEK_FIELDS:
        return WEEK_FIELDS[field].format(t=t)
    if field == "q":
        return f"CAST(quarter({t}) AS STRING)"
    position, width = _FIELDS[field]
    return f"substring(CAST({t} AS STRING), {position}, {width})"
