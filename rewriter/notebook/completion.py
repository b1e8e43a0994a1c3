"""Names that complete a word of a statement: those of objects and their columns, from the catalog alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from rewriter.catalog.model.objects import Cube, Table
from rewriter.catalog.model.qualified_names import full_name, seen_from
from rewriter.catalog.model.system_tables import SYSTEM_TABLES
from rewriter.catalog.model.temporary_names import shown
from rewriter.catalog.reading.snapshot import Snapshot
from rewriter.dbapi.connection import Connection
from rewriter.errors import Error

_WORD = re.compile(r"[\w.]*\Z")
_NAME = re.compile(r"\w+(?:\.\w+)*")
_KEYWORDS = (
    "SELECT FROM WHERE GROUP BY HAVING ORDER LIMIT JOIN LEFT ON UNION ALL WITH AS AND OR NOT NULL IN BETWEEN LIKE "
    "INSERT INTO OVERWRITE VALUES PARTITION CREATE TABLE VIEW CUBE FACT DROP ALTER SHOW DESCRIBE EXPLAIN COVERAGE "
    "TIMELINES PARTITIONS time_range_in"
).split()
#: The most names that are offered.
MOST_NAMES = 500


def fragment_of(text: str) -> str:
    """Returns the word at the end of a text, with the points in it."""
    match = _WORD.search(text)
    return "" if match is None else match[0]


def completions(connection: Connection, fragment: str, text: str) -> list[str]:
    """Returns the words that begin with ``fragment``, in any case: columns of the objects that the text names, then
    objects, then keywords. Behind a point, columns and objects. None if the catalog cannot be read.
    """
    session = connection.session
    try:
        if not session.catalog.find_warehouse():
            return []
        snapshot = session.catalog.snapshot()
        columns, objects = list(_columns(snapshot, session.database, text)), list(_objects(snapshot, session.database))
    except Error:
        return []
    prefix, point, _ = fragment.rpartition(".")
    names = [f"{prefix}.{name}" for name in columns] + objects if point else [*columns, *objects, *_KEYWORDS]
    offered = (name for name in dict.fromkeys(names) if name.lower().startswith(fragment.lower()))
    return list(islice(offered, MOST_NAMES))


def _columns(snapshot: Snapshot, current: str, text: str) -> Iterator[str]:
    """Yields the columns of the tables and cubes whose names are in a text."""
    for word in dict.fromkeys(_NAME.findall(text)):
        database, _, name = word.rpartition(".")
        object_ = snapshot.find(full_name(database or current, name))
        if isinstance(object_, Table):
            yield from (column.name for column in object_.all_columns)
        elif isinstance(object_, Cube):
            yield from object_.column_order


def _objects(snapshot: Snapshot, current: str) -> Iterator[str]:
    """Yields the names of objects and databases, as they are written under the current database."""
    for objects in (snapshot.cubes(), snapshot.tables(), snapshot.views(), snapshot.facts()):
        yield from (shown(seen_from(current, object_.name)) for object_ in objects)
    yield from (f"{database.name}." for database in snapshot.all_databases() if database.name != current)
    yield from (name for name in SYSTEM_TABLES if snapshot.system_table(name) is not None)
