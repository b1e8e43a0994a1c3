"""ANALYZE as part of a commit: the statistics of partitions change; their content and proofs do not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from rewriter.catalog.commit.commit_context import CommitContext
from rewriter.catalog.commit.stored_timelines import end_rows
from rewriter.catalog.model.changes import Counted, NoteStatistics
from rewriter.catalog.model.stored_rows import properties_in
from rewriter.catalog.reading.queries import chunks
from rewriter.catalog.store import schema


def note(context: CommitContext, change: NoteStatistics) -> None:
    """Makes new versions of the partitions whose content is still the counted one.

    Each keeps the number of the commit that wrote its content, and its proof. For facts, and for writers that do not
    see this commit, nothing changes.
    """
    table = context.live_table(change.table)
    counted_by_key = {partition.key: partition for partition in change.partitions}
    row = schema.partitions
    updated_count = 0
    for keys in chunks(list(counted_by_key)):
        query = sa.select(row).where(row.c.key.in_(keys), row.c.ended == schema.NEVER)
        versions = [dict(version) for version in context.connection.execute(query).mappings()]
        unchanged = [version for version in versions if version["commit_seq"] == counted_by_key[version["key"]].commit]
        if unchanged:
            made = context.write_id(table.id)
            end_rows(context.connection, row, [version["row_id"] for version in unchanged], made)
            context.connection.execute(
                row.insert(), [_version(version, counted_by_key[version["key"]], made) for version in unchanged]
            )
            updated_count += len(unchanged)
    context.log("ANALYZE", table, partitions=updated_count)


def _version(before: Mapping[str, Any], counted: Counted, made: int) -> dict[str, Any]:
    properties = {**properties_in(before["properties"], before["key"]), **counted.properties}
    columns = {name: value for name, value in before.items() if name != "row_id"}
    return {
        **columns,
        "rows": before["rows"] if counted.rows is None else counted.rows,
        "properties": json.dumps(properties, ensure_ascii=False) if properties else None,
        "made": made,
        "ended": schema.NEVER,
    }
