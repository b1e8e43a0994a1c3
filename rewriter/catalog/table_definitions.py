"""Definitions of tables that come from callers of the catalog, and not from statements."""

from __future__ import annotations

import re
from collections.abc import Collection

from rewriter.catalog.keys.values import check_partition_column
from rewriter.catalog.model.objects import CATALOG, WRITE_ID_LEVEL, Column, Table, short_name
from rewriter.data_formats import SOURCE_FORMATS
from rewriter.errors import AnalysisError

#: Words that mean something other than a database before a name, here or in Spark.
RESERVED_DATABASES = (*SOURCE_FORMATS, CATALOG, "global_temp", "session", "system")
_NAME = re.compile(r"\w{1,100}")
_DECIMAL, _MOST_DIGITS = re.compile(r"decimal\((\d{1,9}),\s*(\d{1,9})\)"), 38
_TYPE = re.compile(
    r"boolean|tinyint|smallint|int|bigint|float|double|string|binary|date|timestamp|decimal\(\d+,\d+\)|"
    r"(var)?char\(\d+\)|(array|map|struct)<.*>",
    re.DOTALL,
)


def check_definition(table: Table, formats: Collection[str] | None) -> None:
    """Raises ``AnalysisError`` INVALID_TABLE_DEFINITION for a table that no statement would create, and the errors of
    ``check_partition_column``. ``formats`` are the formats that it may have, with columns of our types; ``None`` is
    any.
    """
    names = [column.name.lower() for column in (*table.columns, *table.partition_columns)]
    repeated = next((name for index, name in enumerate(names) if name in names[:index]), None)
    problem: str | None = None
    if _NAME.fullmatch(short_name(table.name)) is None:
        problem = "its name must consist of letters, digits and underscores"
    elif not table.columns:
        problem = "it has no data columns"
    elif repeated is not None:
        problem = f"it has the column {repeated} twice"
    elif WRITE_ID_LEVEL in names:
        problem = f"{WRITE_ID_LEVEL} is the name of directories"
    elif formats is not None and table.format not in formats:
        problem = f"its format must be one of {', '.join(formats)}"
    elif formats is not None:
        problem = next((f"{c.type} is no type" for c in table.all_columns if not has_known_type(c)), None)
    if problem is not None:
        raise AnalysisError(
            f"the table '{table.name}' cannot be created: {problem}",
            condition="INVALID_TABLE_DEFINITION",
            object=table.name,
            hint="CREATE TABLE describes what a table can be.",
        )
    for column in table.partition_columns:
        check_partition_column(column)


def check_database_name(name: str) -> None:
    """Raises ``AnalysisError`` INVALID_SCHEMA_OR_RELATION_NAME for a name that no statement would give a database."""
    if name in RESERVED_DATABASES:
        raise _invalid_name(name, "that word has another meaning before a name")
    check_name(name)


def check_view(name: str, query: str) -> None:
    """Raises ``AnalysisError`` INVALID_SCHEMA_OR_RELATION_NAME for a name that no statement would give a view, and
    INVALID_TABLE_DEFINITION without a query. The query is not read.
    """
    check_name(short_name(name))
    if not query.strip():
        raise AnalysisError(
            f"the view '{name}' cannot be created: it has no query",
            condition="INVALID_TABLE_DEFINITION",
            object=name,
            hint="CREATE VIEW describes what a view can be.",
        )


def check_name(name: str) -> None:
    """Raises ``AnalysisError`` INVALID_SCHEMA_OR_RELATION_NAME for a name that no object can have."""
    if _NAME.fullmatch(name) is None:
        raise _invalid_name(name, "a name consists of 1 to 100 letters, digits and underscores")


def _invalid_name(name: str, reason: str) -> AnalysisError:
    return AnalysisError(
        f"'{name}' is not a valid name: {reason}",
        condition="INVALID_SCHEMA_OR_RELATION_NAME",
        sqlstate="42602",
        object=name,
        hint="Choose another name.",
    )


def has_known_type(column: Column) -> bool:
    """Returns whether a column's type looks like one that a statement can declare. Decimals have 1 to 38 digits."""
    if _TYPE.fullmatch(column.type) is None:
        return False
    decimals = ((int(match[1]), int(match[2])) for match in _DECIMAL.finditer(column.type))
    return all(0 <= scale <= precision and 1 <= precision <= _MOST_DIGITS for precision, scale in decimals)
