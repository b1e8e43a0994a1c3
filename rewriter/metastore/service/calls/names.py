"""Names and patterns as clients of a metastore write them."""

from __future__ import annotations

import fnmatch
import glob
import re

from rewriter.catalog.model.objects import DEFAULT_DATABASE, full_name
from rewriter.metastore.wire.interface import structure


def database_name(text: str | None) -> str:
    """Returns the name of a database. Hive 3 and later write the catalog in front: ``@hive#sales``."""
    return _without_catalog(str(text or "")).lower() or DEFAULT_DATABASE


def _without_catalog(text: str) -> str:
    return text.partition("#")[2] if text.startswith("@") and "#" in text else text


def table_name(database: str | None, table: str | None) -> str:
    """Returns the catalog's name of a table. A name that no table can have is found by nobody.

    Raises ``MetaException`` if there is none.
    """
    if not table:
        raise structure("MetaException")(message="The call names no table.")
    return full_name(database_name(database), str(table))


def database_pattern(text: str | None) -> re.Pattern[str]:
    """Returns a pattern of databases, which may have a catalog in front, too; ``@hive#`` is any database."""
    return pattern(_without_catalog(str(text or "")))


def pattern(text: str | None) -> re.Pattern[str]:
    """Returns a pattern of Hive as an expression: ``*`` is any text, ``|`` separates alternatives, case is ignored.

    It never goes back over what it has matched, so that a hostile pattern costs no more than a plain one.

    >>> bool(pattern("a*|b").fullmatch("Abc"))
    True
    """
    expressions = []
    for alternative in (text or "*").strip().split("|"):
        parts = map(glob.escape, re.split(r"\.\*|\*", alternative.strip()))
        expressions.append(fnmatch.translate("*".join(parts)))
    return re.compile("|".join(expressions), re.IGNORECASE)
