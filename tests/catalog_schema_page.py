"""docs/reference/catalog-schema.md: the tables of the catalog's database, its versions, and the kinds of events."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from rewriter.catalog.commit import commit
from rewriter.catalog.model import json_codec
from rewriter.catalog.store import migrations, schema
from tests.catalog_schema_texts import COLUMNS, COMMON, EVENTS, GROUPS, INSTEAD, TABLES

#: The length of a line of prose.
_LINE = 118
_SQLITE, _POSTGRESQL = sqlite.dialect(), postgresql.dialect()

_HEAD = """\
# Catalog schema

The catalog is a database: the SQLite file `catalog.db` in the warehouse, or a PostgreSQL database. This page
describes its tables, for operators who look at a catalog with a tool of the database. It is generated from the source
by `pytest tests/unit/documents/test_catalog_schema_page.py --rewrite`.

**Nothing of this page is guaranteed.** Tables and columns change from one release to the next, and the
[versions](#versions) below say how. Programs read the [system tables](dialect/74-system-tables.md), whose columns
stay, or use SHOW and DESCRIBE. No other program may write to the database: a row that another program has changed is
reported as `DAMAGED_CATALOG`, or not at all. `rewriter catalog check` looks for such damage
([catalog](../how-to/catalog.md#check)).

| table | read instead |
| --- | --- |
"""

_CONCEPTS = """
## Versions of rows

A *write id* numbers the writes of one object: a table, a view, a cube, a fact, a function, a database. A transaction
takes one write id for each object that it writes. A *commit number* numbers the commits of the catalog. Both begin
with 1.

A row that readers see has the columns `made`, `ended` and `commit_seq`, and is written once. A later commit that
replaces the row sets its `ended`, and inserts another row; nothing else is updated. A snapshot knows which write ids
of an object it sees. It sees a row if it sees `made` and does not see `ended`. Rows that have ended stay: snapshots
that are older than the end read them, and timelines are built again from them. Columns with one meaning in all
tables:

| column | meaning |
| --- | --- |
{common}

## Keys

The key of a partition is a sequence of bytes whose order is the order of the values. It begins with the id of the
table in 9 bytes. Then each partition value follows. NULL is the byte `00`. Any other value is the byte `01` and

- for a text its UTF-8 bytes, in which `00` is written as `01 01` and `01` as `01 02`, and the byte `00` at the end;
- for an integer its bytes, the highest first, with the sign bit inverted;
- for a date the days and for a timestamp the microseconds since 1970, as such integers;
- for a decimal its unscaled number, as an integer of 16 bytes; for a boolean `01` (false) or `02` (true);
- for a floating-point number its bytes with the sign bit inverted, or all bits of a negative number.

So the partitions of a table, or those with given leading values, are one range of an index. A *range of keys* begins
with its first key and ends before its end.

## Types

`BLOB / BYTEA` is BLOB on SQLite and BYTEA on PostgreSQL. Texts that are compared have the collation `C` on
PostgreSQL, so that both databases have the same order. A primary key is marked with PK. Columns are NOT NULL, unless
NULL is stated.
"""

_EVENTS = """
## Kinds of events

Each commit adds an entry to `events` for each of its changes, in their order, and one of the kind COMMIT at the end.
Entries are numbered without gaps. Caches of other processes, the completion of the shell, and the notifications of a
metastore client read them. `rewriter.log_retention_hours` limits their age ([cache](dialect/72-cache.md)). The
`payload` has these members besides `name` and `write_ids`:

| kind | change | members |
| --- | --- | --- |
"""

_VERSIONS = """
## Versions

The present version is {version}. A release that opens a catalog of an older version runs the missing steps in one
database transaction ([upgrade](../how-to/catalog.md#upgrade)). A release refuses a newer version: `CATALOG_TOO_NEW`.
Many steps change no row: their number keeps releases away that would misread what a catalog may contain since then.

| version | step |
| --- | --- |
"""


def page() -> str:
    """Returns the text of docs/reference/catalog-schema.md."""
    instead = "".join(f"| [`{table}`](#{table}) | {text} |\n" for table, text in INSTEAD.items())
    common = "\n".join(f"| `{name}` | {text} |" for name, text in COMMON.items())
    parts = [_HEAD + instead + _CONCEPTS.format(common=common)]
    for group, tables in GROUPS.items():
        parts.append(f"\n## {group}\n" + "".join(map(_table, tables)))
    parts.append(_EVENTS + "".join(_event_row(kind, members) for kind, members in sorted(event_kinds().items())))
    parts.append(_VERSIONS.format(version=len(migrations.STEPS)) + "".join(_version_rows()))
    return "".join(parts)


def _table(name: str) -> str:
    table = schema.metadata.tables[name]
    about = textwrap.fill(TABLES[name], _LINE)
    lines = [f"\n### {name}\n\n{about}\n\n| column | type | meaning |\n| --- | --- | --- |\n"]
    for column in table.columns:
        marks = f"{' PK' if column.primary_key else ''}{' NULL' if column.nullable else ''}"
        lines.append(f"| `{column.name}` | {_type(column)}{marks} | {description(name, column.name)} |\n")
    indexes = [_index(index) for index in sorted(table.indexes, key=lambda index: str(index.name))]
    if indexes:
        lines.append(f"\nIndexes: {'; '.join(indexes)}.\n")
    return "".join(lines)


def description(table: str, column: str) -> str:
    """Returns the meaning of a column. Raises ``KeyError`` if none is written down."""
    own = COLUMNS.get(table, {})
    return own[column] if column in own else COMMON[column]


def _type(column: sa.Column[object]) -> str:
    names = [column.type.compile(dialect=dialect).partition(" COLLATE")[0] for dialect in (_SQLITE, _POSTGRESQL)]
    if column.name == "row_id":
        names[1] = "BIGSERIAL"
    return " / ".join(dict.fromkeys(names))


def _index(index: sa.Index) -> str:
    columns = ", ".join(f"`{column.name}`" for column in index.columns)
    condition = index.dialect_options["sqlite"].get("where")
    kind = "unique " if index.unique else ""
    where = "" if condition is None else ", for open partitions"
    return f"{kind}`{index.name}` ({columns}){where}"


def _event_row(kind: str, members: tuple[str, ...]) -> str:
    return f"| `{kind}` | {EVENTS[kind]} | {', '.join(f'`{member}`' for member in members)} |\n"


@cache
def event_kinds() -> dict[str, tuple[str, ...]]:
    """Returns the members of the payload of each kind of event that the source logs."""
    kinds: dict[str, tuple[str, ...]] = {"COMMIT": ()}
    for path in sorted(Path(inspect.getfile(commit)).parent.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "log":
                members = tuple(keyword.arg for keyword in node.keywords if keyword.arg)
                for kind in _kinds(node.args[0]):
                    kinds[kind] = tuple(dict.fromkeys([*kinds.get(kind, ()), *members]))
    return kinds


def _kinds(node: ast.expr) -> Iterator[str]:
    match node:
        case ast.Constant(value=str(kind)):
            yield kind
        case ast.IfExp(body=body, orelse=other):
            yield from _kinds(body)
            yield from _kinds(other)
        case ast.JoinedStr(values=[ast.Constant(value=str(action)), _]):
            objects = ("table", "view") if action == "RENAME_" else tuple(json_codec._KINDS.values())
            yield from (f"{action}{kind.upper()}" for kind in objects)
        case _:
            raise AssertionError(f"line {node.lineno}: the kind of the event is unknown")


def _version_rows() -> Iterator[str]:
    for number, step in enumerate(migrations.STEPS, 1):
        yield f"| {number} | {' '.join((step.__doc__ or '').split()).replace('``', '`')} |\n"
