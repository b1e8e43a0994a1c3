"""ANALYZE as part of a commit: figures of partitions change, their content and all that is known of it does not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from rewriter.catalog import schema
from rewriter.catalog.changes import Counted, NoteStatistics
from rewriter.catalog.context import CommitContext
from rewriter.catalog.reads import chunks
from rewriter.catalog.timelines import end_rows


def note(context: CommitContext, change: NoteStatistics) -> None:
    """New versions of the partitions that still have the content that was counted.

    Each keeps the number of the commit that wrote its content, and what that knows of others: to facts, and to writers
    that do not see this commit, nothing has happened.
    """
    table = context.live_table(change.table)
    counted = {one.key: one for one in change.partitions}
    row = schema.partitions
    noted = 0
    for keys in chunks(list(counted)):
        query = sa.select(row).where(row.c.key.in_(keys), row.c.ended == schema.NEVER)
        found = [dict(one) for one in context.connection.execute(query).mappings()]
        same = [one for one in found if one["commit_seq"] == counted[one["key"]].commit]
        if same:
            made = context.write_id(table.id)
            end_rows(context.connection, row, [one["row_id"] for one in same], made)
            context.connection.execute(row.insert(), [_version(one, counted[one["key"]], made) for one in same])
            noted += len(same)
    context.log("ANALYZE", table, partitions=noted)


def _version(before: Mapping[str, Any], counted: Counted, made: int) -> dict[str, Any]:
    properties = {**json.loads(before["properties"] or "{}"), **counted.properties}
    kept = {name: value for name, value in before.items() if name != "row_id"}
    return {
        **kept,
        "rows": before["rows"] if counted.rows is None else counted.rows,
        "properties": json.dumps(properties, ensure_ascii=False) if properties else None,
        "made": made,
        "ended": schema.NEVER,
    }
