"""The dropped facts that a new fact continues: DROP FACT and an equal CREATE FACT keep all proofs.

The row of a partition says which commit of the base its content includes, and which commit wrote it. So a fact with the
meaning of a dropped one needs no more than the time of that one's life: what was written then is judged as if the fact
had never been dropped, and what was written in between is unproven.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import sqlalchemy as sa

from rewriter.catalog.model.json_codec import decode_object
from rewriter.catalog.model.objects import Cube, Fact, FactLife, Storage, Table
from rewriter.catalog.reading import queries
from rewriter.catalog.store import schema
from rewriter.catalog.store.backend import warehouse_of

if TYPE_CHECKING:
    from rewriter.catalog.facts.time_binding import TimeBinding


def continued(connection: sa.Connection, fact: Fact, cube: Cube, bindings: Sequence[TimeBinding]) -> Fact:
    """Returns the new fact, with the lives of the newest dropped fact that means the same over the same tables; as it
    is if there is none, or if a table is external.

    Names, weights, lateness and retention are no part of the meaning. Columns, types, measures, times, layouts, bounds,
    the word of the owner and the places of the tables are. Costs one read of all versions of facts, and a few more for
    each dropped fact over a table of these names.
    """
    tables = {binding.storage_table.table.lower(): binding.table for binding in bindings}
    if any(table.external for table in tables.values()):
        return fact  # No row tells what has been written into their directories since.
    for dropped, life in _dropped_facts(connection):
        if _meaning(dropped, cube) != _meaning(fact, cube):
            continue
        old_cube = _object_before(connection, dropped.cube, life.dropped)
        if not isinstance(old_cube, Cube) or replace(old_cube, id=cube.id, name=cube.name) != cube:
            continue
        if all(_is_same(_object_before(connection, name, life.dropped), table) for name, table in tables.items()):
            joined = {table.table.lower(): table.joined for table in dropped.tables}
            storages = [_joined(storage, joined) for storage in fact.storages]
            return replace(fact, storages=tuple(storages), earlier=(*dropped.earlier, life))
    return fact


def _joined(storage: Storage, joined: Mapping[str, int]) -> Storage:
    """Returns a storage whose tables have joined the fact with these commits, by name in lower case."""
    return replace(storage, tables=tuple(replace(t, joined=joined[t.table.lower()]) for t in storage.tables))


def _meaning(fact: Fact, cube: Cube) -> tuple[object, ...]:
    """Returns what two facts have in common that mean the same: the order of tables, storages and listed columns does
    not matter, nor does it whether a list has all columns or there is none.
    """
    storages = []
    for storage in sorted(fact.storages, key=lambda storage: storage.name):
        tables = [
            replace(
                t,
                table=t.table.lower(),
                joined=0,
                made=False,
                retain=None,
                columns=tuple(sorted(cube.columns_in(fact.columns_of(t)))),
            )
            for t in storage.tables
        ]
        storages.append((storage.name, sorted(tables, key=lambda t: t.table), storage.start, storage.end))
    return storages, cube.columns_in(fact.columns), fact.zone


def _is_same(then: object, now: Table) -> bool:
    """Tests whether a table is the one of that time, with the same columns in the same place."""
    if not isinstance(then, Table) or then.id != now.id:
        return False
    return replace(then, name=now.name, comment=now.comment, properties=now.properties) == now


def _object_before(connection: sa.Connection, name: str, commit: int) -> object:
    objects = queries.objects(connection, commit - 1, name=name)
    return objects[0][0] if objects else None


def _dropped_facts(connection: sa.Connection) -> Iterator[tuple[Fact, FactLife]]:
    """Yields the last version of each dropped fact, with its life, the newest first."""
    row, ender = schema.objects.c, schema.write_ids.c
    its_end = sa.and_(ender.object_id == row.object_id, ender.write_id == row.ended)
    query = sa.select(row.object_id, row.name, row.definition, row.commit_seq, ender.commit_seq)
    query = query.join_from(schema.objects, schema.write_ids, its_end, isouter=True).where(row.kind == "fact")
    created: dict[int, int] = {}
    last: dict[int, tuple[float, str, str]] = {}
    for id_, name, definition, made, ended in connection.execute(query):
        created[id_] = min(made, created.get(id_, made))
        version = (float("inf") if ended is None else ended, name, definition)
        last[id_] = max(version, last.get(id_, version), key=lambda version: version[0])
    warehouse = warehouse_of(connection)
    for id_, (dropped_at, name, definition) in sorted(last.items(), key=lambda item: item[1][0], reverse=True):
        if dropped_at != float("inf"):
            fact = decode_object("fact", id_, name, definition, warehouse)
            assert isinstance(fact, Fact)
            yield fact, FactLife(created[id_], int(dropped_at))
