"""The functions of Spark that DuckDB runs, with their forms, from the allow-list."""

from __future__ import annotations

import re

from rewriter.exec.translate.allowlist import ALLOWED, entries

#: Operators and functions of Spark's list that the allow-list has by their syntax instead of their name.
_BY_SYNTAX = frozenset(
    """
    ! != % * + - / < <= <=> <> = == > >= || and array between case current_database current_date
    current_schema current_timestamp div extract float ilike in like not or regexp rlike trim when
    """.split()
)


def runs_on_duckdb(name: str) -> bool:
    """Tests whether DuckDB runs a function or operator of Spark, by its name in lower case, in any form.

    >>> runs_on_duckdb("abs"), runs_on_duckdb("+"), runs_on_duckdb("aes_encrypt")
    (True, True, False)
    """
    return name in ALLOWED or name in _BY_SYNTAX


def forms_on_duckdb(name: str) -> tuple[str, ...]:
    """Returns the calls of a function that DuckDB runs, each with what it refuses of it.

    >>> forms_on_duckdb("md5")
    ('md5(s)',)
    """
    call = re.compile(rf"(?<!\w){re.escape(name)}\(", re.IGNORECASE)
    return tuple(
        f"{entry.form}, except {entry.refused}" if entry.refused else entry.form
        for entry in entries()
        if runs_on_duckdb(name) and call.search(entry.form)
    )
