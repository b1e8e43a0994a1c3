"""The upgrades of facts with TRUSTED tables: from releases that trusted every external rollup table, and from those
that did not note which rollups rest on them.
"""

from __future__ import annotations

import json

from sqlalchemy import Connection, select, update

from rewriter.catalog.model.json_codec import decoded
from rewriter.catalog.model.objects import Fact
from rewriter.catalog.model.origins import Origin, OriginKind, stored_origins
from rewriter.catalog.store import schema


def trust_external_rollups(connection: Connection) -> None:
    """Declares the external tables of all live facts TRUSTED if they hold rollups. O(objects)."""
    row = schema.objects
    query = select(row.c.row_id, row.c.kind, row.c.object_id, row.c.name, row.c.definition)
    stored = connection.execute(query.where(row.c.ended == schema.NEVER, row.c.kind.in_(("table", "fact")))).all()
    external = {name.lower() for _, kind, _, name, text in stored if kind == "table" and json.loads(text)["external"]}
    for row_id, kind, object_id, name, text in stored:
        fact = decoded(kind, object_id, name, text, "") if kind == "fact" else None
        if not isinstance(fact, Fact):
            continue
        rollups = {
            table.table.lower()
            for table in fact.tables
            if any(period != fact.base_period for period in table.layouts) and table.table.lower() in external
        }
        definition = json.loads(text)
        for _, tables, *_ in definition["storages"]:
            for table in tables:
                table["trusted"] = table["trusted"] or table["table"].lower() in rollups
        if rollups:
            changed = json.dumps(definition, ensure_ascii=False, separators=(",", ":"))
            connection.execute(update(row).where(row.c.row_id == row_id).values(definition=changed))


def note_trusted_sources(connection: Connection) -> None:
    """Notes of the proven partitions of all live facts which tables that are TRUSTED now they were computed from.

    They rest on the declaration alone: the times that they have read are unknown. O(partitions of these facts).
    """
    row, partition = schema.objects.c, schema.partitions
    query = select(row.kind, row.object_id, row.name, row.definition)
    stored = connection.execute(query.where(row.ended == schema.NEVER, row.kind.in_(("table", "fact")))).all()
    ids = {name.lower(): object_id for kind, object_id, name, _ in stored if kind == "table"}
    for kind, object_id, name, text in stored:
        fact = decoded(kind, object_id, name, text, "") if kind == "fact" else None
        if not isinstance(fact, Fact):
            continue
        trusted = {
            ids[table.table.lower()]: min(int(period) for period in table.layouts if not fact.is_base(table, period))
            for table in fact.tables
            if table.trusted and any(not fact.is_base(table, period) for period in table.layouts)
        }
        for table_id in [ids[table.table.lower()] for table in fact.tables] if trusted else ():
            live = (partition.c.table_id == table_id, partition.c.ended == schema.NEVER, partition.c.doubt.is_(None))
            for row_id, sources in connection.execute(select(partition.c.row_id, partition.c.sources).where(*live)):
                origins = tuple(
                    Origin(OriginKind.TRUSTED, source, trusted[source], 0, 0, 0)
                    for source in json.loads(sources)
                    if source in trusted and source != table_id
                )
                if origins:
                    noted = update(partition).where(partition.c.row_id == row_id)
                    connection.execute(noted.values(origins=stored_origins(origins)))
