"""Routing: chooses the cluster that runs a query, by the partitions that its plan needs (seed 004)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from rewriter.catalog.keys.encoding import prefix
from rewriter.catalog.keys.paths import is_discovered
from rewriter.catalog.keys.values import partition_name
from rewriter.catalog.model.key_ranges import KeyRange, outside, without
from rewriter.catalog.model.temporary_views import session_of
from rewriter.errors import MissingDataError
from rewriter.planner.model.plan import Plan, TableUse
from rewriter.planner.routing.placed_reader import PlacedReader
from rewriter.planner.routing.routes import (
    NO_ROUTE,
    Attempt,
    Lack,
    Route,
    badness,
    best_route,
    candidates,
    first_route,
    is_same_time,
    named,
    no_cluster,
)
from rewriter.planner.scope.blocks import CatalogReader

if TYPE_CHECKING:
    from rewriter.catalog.filters.predicates import ScanFilter
    from rewriter.catalog.model.objects import Partition, Table
    from rewriter.runtime.statement_context import Context

#: The condition of an engine that cannot be reached.
UNREACHABLE = "ENGINE_UNREACHABLE"
#: Plans the query again over what another reader shows.
Replan = Callable[[CatalogReader], Plan]


def choose_route(plan: Plan, replan: Replan, context: Context) -> tuple[Plan, Route]:
    """Returns the plan that runs, and the cluster that runs it. Without clusters, the plan as it is, at no cost.

    Raises ``OperationalError`` NO_CLUSTER_HAS_EVERYTHING, ``ProgrammingError`` CLUSTER_LACKS_PARTITIONS where the
    cluster is required, and ``AnalysisError`` CLUSTER_NOT_FOUND for a table of a cluster that is no longer defined.
    Costs an indexed read for each table that has secondary clusters, and one of the partitions that a cluster lacks.
    """
    clusters = context.clusters
    if not clusters:
        return plan, NO_ROUTE
    tables = _tables(plan, context)
    required, why = context.required_cluster
    names = candidates(clusters, tables) if required is None else (required,)
    if required is None and not tables:
        return plan, NO_ROUTE
    if context.unreachable:
        # Any cluster that has everything will do.
        names = tuple(dict.fromkeys((*names, *(cluster.name for cluster in clusters.by_name.values()))))
    route = first_route(names, lambda name: lacks(plan.uses, name, context), why, context.unreachable)
    if isinstance(route, Route):
        return plan, route
    if plan.coverage.references:
        # A cluster may have all that another cover of the same time needs.
        other_plans = [(other, name) for name in names if (other := _planned_on(name, plan, replan, context))]
        if other_plans:
            return best_route(other_plans, route, why)
    raise no_cluster(route, why)


def place_on_cluster(uses: Sequence[TableUse], context: Context) -> Context:
    """Returns the context on the cluster that has all that is read of tables. Without clusters, returns it as it is.

    Raises as ``choose_route`` does.
    """
    if not context.clusters:
        return context
    required, why = context.required_cluster
    tables = [use.table for use in uses if _is_placed(use.table)]
    names = candidates(context.clusters, tables) if required is None else (required,)
    if not names:
        return context
    route = first_route(names, lambda name: lacks(uses, name, context), why)
    if isinstance(route, Route):
        return context.on(route.cluster)
    raise no_cluster(route, why)


def _tables(plan: Plan, context: Context) -> list[Table]:
    """Returns the tables whose primary clusters are tried, in the order of the query: for a cube, all tables of its
    facts, in the order of their definition.
    """
    tables: list[Table] = []
    for reading in sorted(plan.readings, key=lambda reading: reading.start):
        if reading.cube:
            facts = context.snapshot.facts_of(reading.cube)
            tables += [context.snapshot.table(stored.table) for fact in facts for stored in fact.tables]
        else:
            tables += [use.table for use in reading.uses]
    return [table for table in tables if _is_placed(table)]


def lacks(uses: Sequence[TableUse], cluster: str, context: Context) -> tuple[Lack, ...]:
    """Returns what a cluster lacks of the partitions that a plan reads, by table."""
    lacking = (_lack(use, cluster, context) for use in uses if _is_placed(use.table))
    return tuple([lack for lack in lacking if lack is not None])


def _planned_on(name: str, whole: Plan, replan: Replan, context: Context) -> Plan | None:
    """Returns the plan over what one cluster has, if it reads the same time and the cluster can run it."""
    if any(attempt.cluster == name for attempt in context.unreachable):
        return None
    reader = PlacedReader(context.snapshot, context.clusters.named(name), context.clusters)
    try:
        plan = replan(reader)
    except MissingDataError:
        return None
    same = is_same_time(plan, whole) and len(badness(plan)) == len(badness(whole))
    return plan if same and not lacks(plan.uses, name, context) else None


def _is_placed(table: Table) -> bool:
    """Tests whether the files of a table belong to a cluster: the table is no file, source, system table, or temporary
    table, which the process has.
    """
    return table.kind.is_in_catalog and session_of(table.name) is None


def _lack(use: TableUse, cluster: str, context: Context) -> Lack | None:
    table, snapshot = use.table, context.snapshot
    if context.clusters.is_primary(table, cluster):
        return None
    held = snapshot.copied_ranges(table, cluster)
    whole = [KeyRange.of_prefix(prefix(table.id))]
    if is_discovered(table) or (table.external and not table.partition_columns):
        return Lack(table.name, 1)
    if not table.partition_columns:
        return Lack(table.name, 1) if outside([p.key for p in snapshot.partitions(table)], held) else None
    elsewhere = without(whole if use.ranges is None else use.ranges, held)
    if use.wanted is None:
        needed = list(_selected(use, elsewhere, context))
    else:
        by_key = {partition.key: partition for partition in _selected(use, elsewhere if use.ranges else (), context)}
        by_key |= {partition.key: partition for partition in _satisfying(table, use.wanted, held, context)}
        needed = [by_key[key] for key in sorted(by_key)]
    return named([partition_name(table.partition_columns, p.values) for p in needed], table.name) if needed else None


def _selected(use: TableUse, ranges: Sequence[KeyRange], context: Context) -> Iterator[Partition]:
    if ranges:
        partitions = context.snapshot.partitions(use.table, ranges)
        yield from itertools.compress(partitions, use.kept([partition.values for partition in partitions]))


def _satisfying(table: Table, wanted: ScanFilter, held: Sequence[KeyRange], context: Context) -> Iterator[Partition]:
    ranges = without([KeyRange.of_prefix(prefix(table.id))], held)
    yield from context.snapshot.lookup(table, wanted, ranges).partitions()


def unreachable(cluster: str, message: str) -> Attempt:
    """Returns the attempt at a cluster whose engine cannot be reached."""
    return Attempt(cluster, reason=f"cannot be reached: {message.rstrip('.')}")
