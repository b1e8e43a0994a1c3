"""Reads the names for completion in the background, and keeps the last ones where the catalog cannot be read.

The thread has snapshots of its own. What belongs to a session, which one thread uses at a time, is noted by the thread
of the session (``SessionNames.of``). Uncommitted changes of an open transaction are not among the names.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from dataclasses import field, replace
from functools import cache
from typing import TYPE_CHECKING

from rewriter.catalog.clusters.definitions import clusters_of
from rewriter.catalog.model.objects import DEFAULT_DATABASE, Cube, Fact, Table, View
from rewriter.catalog.model.system_tables import SYSTEM_TABLES
from rewriter.catalog.model.temporary_views import NO_VIEWS, TemporaryViews, session_of
from rewriter.errors import Error, only_ours
from rewriter.exec.spark_functions import function_groups
from rewriter.grammar.dialect_parser import first_words
from rewriter.lazy_dataclass import dataclass
from rewriter.runtime.cluster_engines import effective_properties
from rewriter.shell.completion.names import NO_OBJECTS, Named, Names, ObjectNames, Setting, SortedNames

if TYPE_CHECKING:
    from rewriter.catalog.catalog import Catalog
    from rewriter.catalog.reading.snapshot import Snapshot
    from rewriter.session import Session

#: Seconds between two looks at the catalog while nothing happens.
_IDLE_SECONDS = 3.0
#: The most changed objects that are read one by one; for more, all are read.
_MOST_CHANGES = 500


#: The function that is none of an engine: the condition of time of a cube.
_OF_CUBES = "time_range_in"
#: Operators that Spark lists among its functions.
_OPERATORS = frozenset("and or not in like ilike rlike regexp between case when div".split())


@dataclass(frozen=True)
class SessionNames:
    """What a session adds to the catalog's names, at one moment."""

    session: str | None = None
    views: TemporaryViews = NO_VIEWS
    current: str = DEFAULT_DATABASE
    settings: tuple[Setting, ...] = ()
    engine: str = "spark"
    clusters: tuple[str, ...] = ()

    @classmethod
    def of(cls, session: Session) -> SessionNames:
        """Returns a session's names. For the thread that uses the session. One read of the catalog, if it exists."""
        settings = tuple(
            Setting(name, value, meaning, session.settings.choices(name))
            for name, value, meaning in session.settings.items()
        )
        try:
            snapshot = session.snapshot()
            clusters = clusters_of(effective_properties(snapshot.properties(), session.settings))
        except Error:
            return cls(current=session.database, settings=settings, engine=session.engine_name)
        views = snapshot.temporary_views
        names = tuple(cluster.name for cluster in clusters.by_name.values())
        return cls(snapshot.session, views, session.database, settings, session.engine_name, names)


@dataclass
class _Read:
    """The objects of the catalog as they were last read, with the session's own, and up to where the log is read."""

    sequence: int = -1
    event: int = 0
    names_by_id: dict[int, str] = field(default_factory=dict)
    objects: dict[str, Named] = field(default_factory=dict)
    shared: ObjectNames = NO_OBJECTS


class Refresher:
    """Keeps ``names`` current, from a thread between ``start`` and ``stop``. ``names`` may be read by any thread.

    The first names may have the commands of the shell, which stay.
    """

    def __init__(self, catalog: Catalog, names: Names | None = None) -> None:
        self.names = names or Names()
        self._catalog = catalog
        self._session = SessionNames()
        self._read = _Read()
        self._wake = threading.Event()
        self._stopped = False
        self._thread: threading.Thread | None = None

    def note(self, session: SessionNames) -> None:
        """Notes what the session adds, after a statement; the thread looks at the catalog then. Does not block."""
        self._session = session
        clusters = SortedNames(session.clusters)
        self.names = replace(self.names, current=session.current, settings=session.settings, clusters=clusters)
        self._wake.set()

    def start(self) -> None:
        """Starts the thread, which ends with the process."""
        self._thread = threading.Thread(target=self._run, name="rewriter-completion", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread after the read that it is doing, which is not awaited for long. Idempotent."""
        self._stopped = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join(timeout=0.5)

    def step(self) -> bool:
        """Looks at the catalog, and reads what has changed. Returns whether it could be read.

        One read if nothing has changed; a read for each changed object, or one of all objects if there are many, or if
        the log does not tell.
        """
        session = self._session
        try:
            with only_ours():
                if not self._catalog.is_absent:
                    self._refresh(session.session)
        except Error:
            return False
        read = self._read
        own = () if session.session is None else read.objects.values()
        temporary = [
            *(object_ for object_ in own if session_of(object_.name) == session.session),
            *session.views.sources.values(),
            *session.views.by_name.values(),
        ]
        self.names = replace(
            self.names,
            objects=read.shared,
            temporary=ObjectNames.of((), temporary),
            current=self._session.current,
            settings=self._session.settings,
            clusters=SortedNames(self._session.clusters),
            functions=function_names(session.engine),
        )
        return True

    def _run(self) -> None:
        first_words()  # Loads the grammar.
        while not self._stopped:
            self._wake.clear()
            self.step()
            self._wake.wait(_IDLE_SECONDS)

    def _refresh(self, session: str | None) -> None:
        newest = self._catalog.snapshot().sequence
        read = self._read
        if newest == read.sequence:
            return
        events = self._catalog.events(read.event, _MOST_CHANGES + 1) if read.sequence >= 0 else ()
        # The snapshot is taken behind the events, so it sees their commits.
        snapshot = self._catalog.snapshot(session)
        has_all = bool(events) and events[-1].sequence - read.event == len(events) <= _MOST_CHANGES
        if not has_all or newest < read.sequence:
            self._read = _all(snapshot, newest, self._newest_event(read.event))
            return
        changed: dict[str, None] = {}
        for event in events:
            if event.object_id is not None:
                names = (
                    read.names_by_id.get(event.object_id),
                    event.payload.get("name"),
                    event.payload.get("before"),
                )
                changed.update(dict.fromkeys(str(name).lower() for name in names if name))
        objects, names_by_id = dict(read.objects), dict(read.names_by_id)
        changes: dict[str, Named | None] = {}
        for name in changed:
            object_ = snapshot.named(name)
            named = object_ if isinstance(object_, Table | Cube | Fact | View) else None
            if objects.pop(name, None) is None and named is None:
                continue
            if named is not None:
                objects[name], names_by_id[named.id] = named, name
            if session_of(name) is None:
                changes[name] = named
        databases = [database.name for database in snapshot.all_databases()]
        shared = read.shared.changed(databases, changes)
        self._read = _Read(newest, events[-1].sequence, names_by_id, objects, shared)

    def _newest_event(self, after: int) -> int:
        """Returns the number of the newest event."""
        while events := self._catalog.events(after):
            after = events[-1].sequence
        return after


def _all(snapshot: Snapshot, sequence: int, event: int) -> _Read:
    objects = {object_.name.lower(): object_ for object_ in _objects(snapshot)}
    shared = (object_ for name, object_ in objects.items() if session_of(name) is None)
    databases = [database.name for database in snapshot.all_databases()]
    names_by_id = {object_.id: name for name, object_ in objects.items()}
    return _Read(sequence, event, names_by_id, objects, ObjectNames.of(databases, shared))


def _objects(snapshot: Snapshot) -> Iterator[Named]:
    yield from snapshot.tables()
    yield from snapshot.cubes()
    yield from snapshot.facts()
    yield from snapshot.views()
    yield from (table for name in SYSTEM_TABLES if (table := snapshot.system_table(name)) is not None)


@cache
def function_names(engine: str) -> SortedNames:
    """Returns the functions of an engine: Spark's functions; for DuckDB the ones among them that its allow-list has."""
    names: Iterable[str] = (name for name in function_groups() if name.isidentifier() and name not in _OPERATORS)
    if engine == "duckdb":
        from rewriter.exec.translate.allowlist import function_spellings

        names = function_spellings().intersection(names)
    return SortedNames([*names, _OF_CUBES])
