"""The cluster of a query, and the clusters that were refused, with what they lack."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from rewriter.errors import OperationalError, ProgrammingError
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from rewriter.catalog.clusters.definitions import Clusters
    from rewriter.catalog.model.objects import Table
    from rewriter.planner.model.plan import Plan

#: The most partitions that a message names.
_MOST_NAMED = 5


@dataclass(frozen=True)
class Lack:
    """The partitions of one table that a cluster does not have: their number, and the names of the first ones."""

    table: str
    partitions: int
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Returns the lack in words.

        >>> print(Lack("t21", 7, ("dt=2013-01-01", "dt=2013-01-02")))
        7 partitions of t21 (dt=2013-01-01, dt=2013-01-02, …)
        >>> print(Lack("t21", 1))
        t21
        """
        if not self.names:
            return self.table
        more = ", …" if self.partitions > len(self.names) else ""
        noun = "partition" if self.partitions == 1 else "partitions"
        return f"{self.partitions} {noun} of {self.table} ({', '.join(self.names)}{more})"


@dataclass(frozen=True)
class Attempt:
    """A cluster that was tried: what it lacks, or another reason why it does not run the query; nothing if it does."""

    cluster: str
    lacks: tuple[Lack, ...] = ()
    reason: str | None = None

    @property
    def is_refused(self) -> bool:
        return bool(self.lacks) or self.reason is not None

    def __str__(self) -> str:
        """Returns the attempt in words."""
        if self.reason is not None:
            return f"{self.cluster} {self.reason}"
        if self.lacks:
            return f"{self.cluster} lacks {' and '.join(map(str, self.lacks))}"
        return f"{self.cluster} has everything"


@dataclass(frozen=True)
class Route:
    """The cluster that runs a query, after the clusters that were refused. ``None`` is the session's own engine, for
    queries that read no table of a cluster. ``required`` says why no other cluster was tried; '' if the cluster was
    chosen.
    """

    cluster: str | None = None
    attempts: tuple[Attempt, ...] = ()
    required: str = ""

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines of EXPLAIN."""
        chosen = "the session's engine" if self.cluster is None else self.cluster
        why = f": {self.required}" if self.required else ""
        return (f"runs on {chosen}{why}", *(f"  {attempt}" for attempt in self.attempts if attempt.is_refused))


#: The route without clusters, and of queries that read nothing on one.
NO_ROUTE = Route()


def candidates(clusters: Clusters, tables: Iterable[Table]) -> tuple[str, ...]:
    """Returns the clusters to try, in order: the default one first where that is set, then the primary clusters of the
    tables in the order of the query.
    """
    names = [clusters.default] if clusters.use_default else []
    names += [clusters.primary_of(table) for table in tables]
    return tuple(dict.fromkeys(clusters.named(name).name for name in names if name is not None))


def first_route(
    names: Sequence[str], lacks: Callable[[str], tuple[Lack, ...]], required: str, unreachable: Iterable[Attempt] = ()
) -> Route | tuple[Attempt, ...]:
    """Returns the route to the first cluster that lacks nothing, or all attempts. ``unreachable`` were tried before."""
    attempts = list(unreachable)
    tried = {attempt.cluster for attempt in attempts}
    for name in names:
        if name in tried:
            continue
        attempts.append(Attempt(name, lacks(name)))
        if not attempts[-1].is_refused:
            return Route(name, tuple(attempts), required)
    return tuple(attempts)


def best_route(plans: Sequence[tuple[Plan, str]], attempts: Sequence[Attempt], required: str) -> tuple[Plan, Route]:
    """Returns the plan with the cheapest cover, and its route; the first one of several."""
    plan, name = min(plans, key=lambda plan_and_name: badness(plan_and_name[0]))
    others = tuple(attempt for attempt in attempts if attempt.cluster != name)
    return plan, Route(name, (*others, Attempt(name)), required)


def badness(plan: Plan) -> tuple[int, ...]:
    """Returns the sums over the covers of a plan that a best one minimizes, in order."""
    sums = [reference.badness for reference in plan.coverage.references if reference.badness]
    return tuple(map(sum, zip(*sums, strict=True)))


def is_same_time(plan: Plan, other: Plan) -> bool:
    """Tests whether two plans of a query read the same time of each cube. One over fewer partitions may end an open
    range earlier, which would leave rows out.
    """
    pairs = zip(plan.coverage.references, other.coverage.references, strict=True)
    return all(first.requested == second.requested and first.missing == second.missing for first, second in pairs)


def no_cluster(attempts: Sequence[Attempt], required: str) -> OperationalError | ProgrammingError:
    """Returns the error of a query that no cluster, or not the required one, can run."""
    reasons = "; ".join(map(str, attempts))
    unreachable = [attempt for attempt in attempts if attempt.reason is not None]
    if required:
        return ProgrammingError(
            f"The query must run on {attempts[0].cluster} ({required}), but {reasons}.",
            condition="CLUSTER_LACKS_PARTITIONS",
            object=attempts[0].cluster,
            hint=f"REPLICATE TABLE … TO CLUSTER {attempts[0].cluster} copies partitions."
            + (" USE CLUSTER without a name chooses another cluster." if required.startswith("USE ") else ""),
        )
    return OperationalError(
        f"No cluster has all partitions that the query needs: {reasons}.",
        condition="NO_CLUSTER_HAS_EVERYTHING",
        object=attempts[0].cluster,
        hint="Start the cluster that cannot be reached."
        if unreachable and not any(attempt.lacks for attempt in attempts)
        else "Copy the partitions to one of them: REPLICATE TABLE … [PARTITION (…)] TO CLUSTER ….",
    )


def named(partitions: Sequence[str], table: str) -> Lack:
    """Returns a lack of partitions, given by name."""
    return Lack(table, len(partitions), tuple(partitions[:_MOST_NAMED]))
