"""Queries that were planned, with their files, kept for the next run of the same text.

A planned query depends on its text and the values of its parameters, on the planner's settings, and on the state of
the catalog. With all of these equal, the next run takes the kept plan. Not kept: queries that read files which the
catalog does not list, that compute conditions on the values of partitions, whose values come from the footers of files,
or whose plan depends on the clock.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from rewriter.lazy_dataclass import dataclass
from rewriter.planner.routing.routes import NO_ROUTE, Route

if TYPE_CHECKING:
    from rewriter.catalog.clusters.definitions import Clusters
    from rewriter.catalog.reading.snapshot_reads import CatalogState
    from rewriter.certificate.evidence import CatalogRecords
    from rewriter.exec.engine import EngineQuery
    from rewriter.grammar.terms import Query, ReadStates
    from rewriter.planner.model.plan import Plan, Settings
    from rewriter.runtime.result import Scan, Verification

#: The most queries of one session, the most files of all of them together, and the longest text.
_MOST_QUERIES, _MOST_FILES, _LONGEST = 64, 50_000, 10_000
#: The types of parameters whose equal values mean the same.
_COMPARED = (str, int, bool, type(None))


@dataclass(frozen=True)
class Prepared:
    """A planned query with everything that its engine needs, and the amount that it reads. ``from_footers`` says that
    its values come from the footers of files. ``route`` is the cluster that runs it. ``verification`` is there
    where the cover was checked.
    """

    plan: Plan
    query: EngineQuery
    scans: tuple[Scan, ...]
    planning_seconds: float
    from_footers: bool = False
    route: Route = NO_ROUTE
    verification: Verification | None = None


@dataclass(frozen=True)
class QueryKey:
    """The state beside the catalog's that a planned query depends on. ``start`` is the position of the query's text.

    ``views`` is the version of the session's temporary views. ``parameters`` are (name, type, value). ``placing`` are
    the clusters, and the required one. ``states`` are the query's clauses AS OF, which a certificate names.
    """

    text: str
    start: int
    database: str
    views: int
    settings: Settings
    parameters: tuple[tuple[str, type, object], ...]
    placing: tuple[Clusters, str | None]
    states: ReadStates | None


def query_key(
    query: Query,
    database: str,
    views: int,
    settings: Settings,
    parameters: Mapping[str, object],
    placing: tuple[Clusters, str | None],
) -> QueryKey | None:
    """Returns the key of a query; ``None`` for one that is not kept, because it is long or has other parameters."""
    if len(query.text) > _LONGEST or not all(type(value) in _COMPARED for value in parameters.values()):
        return None
    values = tuple((name, type(value), value) for name, value in parameters.items())
    states = query.states if settings.certify else None
    return QueryKey(query.text, query.span.start, database, views, replace(settings, now=0), values, placing, states)


class PreparedQueries:
    """The prepared queries of one session for one state of the catalog. Drops the queries that ran longest ago.
    ``records`` are those that the newest certificate has read.
    """

    def __init__(self) -> None:
        self.records: CatalogRecords | None = None
        self._state: CatalogState | None = None
        self._prepared: OrderedDict[QueryKey, Prepared] = OrderedDict()
        #: The files of all prepared queries.
        self._files = 0

    def get(self, key: QueryKey, state: CatalogState) -> Prepared | None:
        """Returns the prepared query under a state; ``None`` if there is none."""
        prepared = self._prepared.get(key) if state == self._state else None
        if prepared is not None:
            self._prepared.move_to_end(key)
        return prepared

    def keep(self, key: QueryKey, state: CatalogState, prepared: Prepared) -> None:
        """Keeps a query that was prepared under a state. Queries of any other state are dropped."""
        if state != self._state:
            self._prepared.clear()
            self._state, self._files = state, 0
        earlier = self._prepared.pop(key, None)
        self._files += _files(prepared) - (0 if earlier is None else _files(earlier))
        self._prepared[key] = prepared
        while len(self._prepared) > _MOST_QUERIES or self._files > _MOST_FILES:
            self._files -= _files(self._prepared.popitem(last=False)[1])


def _files(prepared: Prepared) -> int:
    return sum([len(relation.files) for relation in prepared.query.relations])
