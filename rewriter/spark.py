"""``rewriter.spark``: a warehouse in a session of Spark that exists.

A view of Spark has one fixed plan. The cover of a cube depends on the query, and the files of a table on the commit:
such a view would return the numbers of an earlier commit, without a word. So the names that ``register`` makes are
there to be found, and reading one is an error of Spark's analysis whose text has the call that works. No optimizer can
remove it: the text of each view names a relation that does not exist.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any

from rewriter.catalog.model.objects import Column
from rewriter.catalog.model.temporary_views import session_of
from rewriter.dbapi import Connection, connect
from rewriter.errors import InterfaceError
from rewriter.exec.spark.session_kinds import is_spark_session

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Cube, Measure
    from rewriter.dbapi.cursor import Parameters
    from rewriter.exec.engine import SparkDataFrame

#: What the name of the missing relation has behind the name of the object: no other relation has it.
_MARK = "is planned for each query"
_PREFIX = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
#: Types that Spark has for columns of tables alone.
_TEXT_TYPES = re.compile(r"(var)?char\b.*", re.IGNORECASE)


def register(
    spark: Any, warehouse: str | os.PathLike[str] | None = None, prefix: str = "lake", **options: Any
) -> SparkLake:
    """Opens a warehouse for a session of Spark, and returns an object whose ``sql`` runs queries over the cubes, facts
    and tables of the warehouse and the temporary views of the session.

    ``spark`` is a ``SparkSession``, classic or of Spark Connect. Each cube, fact and table gets a temporary view
    ``<prefix>_<name>`` with its columns. ``spark.sql`` lists and describes it; reading it fails, and the error has the
    call that works. ``options`` are those of ``rewriter.connect``. The session is not changed otherwise; ``close``
    removes the views.

    Raises the errors of ``rewriter.connect``, and ``InterfaceError`` where the session has another view of such a name.
    """
    if not is_spark_session(spark):
        raise InterfaceError(f"{type(spark).__name__} is no session of Spark.", hint="Pass a SparkSession.")
    if not isinstance(prefix, str) or not _PREFIX.fullmatch(prefix):
        raise InterfaceError(f"The prefix {prefix!r} is no name.", object="prefix", hint='Write prefix="lake".')
    lake = SparkLake(spark, connect(warehouse, engine=spark, **options), prefix)
    try:
        lake.refresh()
    except BaseException:
        lake.close()
        raise
    return lake


class SparkLake:
    """A warehouse that ``register`` has opened. ``connection`` is its connection; ``with`` closes it."""

    def __init__(self, spark: Any, connection: Connection, prefix: str) -> None:
        self.connection = connection
        self._spark = spark
        self._prefix = prefix
        self._views: set[str] = set()

    @property
    def names(self) -> tuple[str, ...]:
        """Returns the names of the views, in order."""
        return tuple(sorted(self._views))

    def sql(self, query: str, parameters: Parameters = None) -> SparkDataFrame:
        """Returns a query as a DataFrame of the session, as ``Connection.sql`` does, with its errors."""
        return self.connection.sql(query, parameters)

    def refresh(self) -> None:
        """Makes views of the objects that the warehouse has now, and removes the others. About 50 ms an object.

        Raises ``InterfaceError`` where the session has another view of such a name.
        """
        wanted = dict(self._wanted())
        for view in self._views - wanted.keys():
            self._drop(view)
        for view, (name, columns) in wanted.items():
            self._make(view, name, columns)

    def _wanted(self) -> Iterator[tuple[str, tuple[str, Sequence[Column | Measure]]]]:
        """Yields the name of each view, and the name and the columns of its object."""
        snapshot = self.connection.session.snapshot()
        cubes = {cube.name.lower(): _columns(cube) for cube in snapshot.cubes()}
        objects: Mapping[str, Sequence[Column | Measure]] = {
            **{table.name: table.all_columns for table in snapshot.tables() if session_of(table.name) is None},
            **{fact.name: cubes[fact.cube.lower()] for fact in snapshot.facts()},
            **{cube.name: cubes[cube.name.lower()] for cube in snapshot.cubes()},
        }
        for name, columns in objects.items():
            yield f"{self._prefix}_{name.replace('.', '_')}".lower(), (name, columns)

    def _make(self, view: str, name: str, columns: Sequence[Column | Measure]) -> None:
        if view not in self._views and self._error_of(view) != "missing":
            self._check_own(view)
        # The relation that is missing has the sentence as its name.
        missing = _quoted(f'{name} {_MARK}: call {self._prefix}.sql("SELECT … FROM {name}")')
        items = ", ".join(f"CAST(NULL AS {_TEXT_TYPES.sub('string', c.type)}) AS {_quoted(c.name)}" for c in columns)
        self._spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {missing} AS SELECT {items or '1 AS n'}")
        try:
            self._spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {_quoted(view)} AS SELECT * FROM {missing}")
        finally:
            self._spark.sql(f"DROP VIEW {missing}")
        self._views.add(view)
        if self._error_of(view) != "own":
            self._drop(view)
            raise InterfaceError(
                f"This session keeps the plans of views: {view} could be read.",
                object=view,
                hint='Call spark.conf.unset("spark.sql.legacy.storeAnalyzedPlanForView").',
            )

    def _check_own(self, view: str) -> None:
        if self._error_of(view) != "own":
            raise InterfaceError(
                f"The session has a view {view} that is not one of rewriter.spark.",
                object=view,
                hint="Drop it, or pass another prefix.",
            )

    def _error_of(self, view: str) -> str:
        """Returns what reading a view says: ``own`` for one of ours, ``missing`` for none, '' for one of the user."""
        try:
            _ = self._spark.table(_quoted(view)).schema
        except Exception as error:
            if _MARK in str(error):
                return "own"
            return "missing" if "TABLE_OR_VIEW_NOT_FOUND" in str(error) else ""
        return ""

    def _drop(self, view: str) -> None:
        self._views.discard(view)
        self._spark.sql(f"DROP VIEW IF EXISTS {_quoted(view)}")

    def close(self) -> None:
        """Removes the views, and closes the connection. Idempotent."""
        for view in self.names:
            with suppress(Exception):  # The session may have ended.
                self._drop(view)
        self.connection.close()

    def __enter__(self) -> SparkLake:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _columns(cube: Cube) -> Sequence[Column | Measure]:
    """Returns the columns of a cube in the order of its declaration."""
    times = [Column(name, "timestamp") for name in cube.times]
    by_name: Mapping[str, Column | Measure] = {
        column.name: column for columns in (times, cube.measures, cube.dimensions) for column in columns
    }
    return [by_name[name] for name in cube.column_order]


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
