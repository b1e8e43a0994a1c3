"""The upgrade of facts from releases that trusted every external rollup table."""

from __future__ import annotations

import json

from sqlalchemy import Connection, select, update

from rewriter.catalog.model.json_codec import decoded
from rewriter.catalog.model.objects import Fact
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
