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
from rewriter.catalog.model.proofs import OPEN
from rewriter.catalog.store import migrations, schema
from tests.catalog_schema_texts import COLUMNS, COMMON, EVENTS, GROUPS, INSTEAD, TABLES

#: The length of a line of prose.
_LINE = 118
_SQLITE, _POSTGRESQL = sqlite.dialect(), postgresql.dialect()

_HEAD = """\
# Catalog schema

The catalog is a database: the SQLite file `catalog.db` in the warehouse, or a PostgreSQL database. This page
describes its tables, for operators who look at a catalog with a tool of the database, such as `psql` or `sqlite3`. The
words *fact*, *rollup*, *base*, *timeline*, *period*, *cover*, *snapshot* and others are in the [glossary](glossary.md).

**Nothing of this page is guaranteed.** Tables and columns change from one release to the next, and the
[versions](#versions) below say how. Programs connect to `rewriter` ([Python](python.md), [shell](shell.md)) and read
its [system tables](dialect/74-system-tables.md), whose columns stay, or use SHOW and DESCRIBE. The system tables are
not tables of this database. For the other tables of this page there is no such replacement.

| table | read instead, in a connection to `rewriter` |
| --- | --- |
{instead}
**No other program may insert, change or delete rows.** Some of such changes are found, and are the error
`DAMAGED_CATALOG`; others would be wrong results without an error. `rewriter catalog check` looks for them
([catalog](../how-to/catalog.md#check)).

## An example

The catalog of a small warehouse, and what its database has about the table `sales`:

```console
$ rewriter sql -w warehouse --engine duckdb -e "
> CREATE TABLE sales (n BIGINT) PARTITIONED BY (day STRING);
> INSERT INTO sales VALUES (5, '2024-01-01'), (6, '2024-01-02');
> ALTER TABLE sales DROP PARTITION (day = '2024-01-02')"
```

```sql title="partitions.sql"
SELECT p.partition_values, p.rows, p.doubt
FROM objects AS o JOIN partitions AS p ON p.table_id = o.object_id
WHERE o.kind = 'table' AND o.name_key = 'sales'
  AND o.ended = 9223372036854775807 AND p.ended = 9223372036854775807;
```

```python
import sqlite3
from pathlib import Path

with sqlite3.connect("file:warehouse/catalog.db?mode=ro", uri=True) as database:
    print(database.execute(Path("partitions.sql").read_text()).fetchall())
```

```output
[('["2024-01-01"]', 1, 'it existed before the fact')]
```

For a table of another database, the key begins with the name of the database: `o.name_key = 'finance.sales'`. On
PostgreSQL, the tables are in the schema that the URL of the catalog names, or in `public`. If `doubt` is `{open}`, the
row is an [open partition](dialect/44-partition-commit.md), which queries over cubes do not read yet. For a table of no
fact, `doubt` has no meaning: the text above is what a fact would say that is created over this table.
"""

_CONCEPTS = """
## Versions of rows

The *objects* of a catalog are its databases, tables, views, cubes, facts and functions. The writes of one object are
numbered from 1: these numbers are its *write ids*. A transaction takes one write id for each object that it writes. The
write ids in a row of `partitions`, `files`, `timeline_ranges`, `partition_copies` and `copied_files` are those of the
table. The commits of the whole catalog are
numbered, too: these are the *commit numbers*.

In tables with the columns `made` and `ended`, a commit inserts rows, and sets `ended` of the rows that it replaces or
removes. It changes no other column, and deletes no row. Rows are inserted when a transaction commits, so an open
transaction has none. A row whose `ended` is 9223372036854775807 is *live*: it is the present version. The other rows
are former versions. A reader with a snapshot sees a row if the snapshot contains the commit of `made` and does not
contain the commit of `ended`.

Former versions of partitions, files and timelines stay in the database: readers with an old snapshot need them, and
timelines are built again from them. VACUUM removes rows of `files` and `copied_files` together with the data files, and
no other rows: no statement removes the former versions of partitions and timelines. Columns that have the same meaning
in most tables:

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
- for a floating-point number its bytes, in which the sign bit is inverted; for a negative one, all bits are inverted.

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
Caches of other processes, the completion of the shell, and the notifications of a metastore client read them. The
oldest entries are removed: `rewriter.log_retention_hours` limits their age ([cache](dialect/72-cache.md)). The
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
    parts = [_HEAD.format(instead=instead, open=OPEN) + _CONCEPTS.format(common=common)]
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
