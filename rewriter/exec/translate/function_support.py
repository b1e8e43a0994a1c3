"""The functions of Spark that DuckDB runs, with their forms, from the allow-list."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rewriter.exec.translate.allowlist import ALLOWED, entries

if TYPE_CHECKING:
    from rewriter.exec.translate.allowlist_entries import Entry

#: Operators and functions of Spark's list that the allow-list has by their syntax instead of their name.
_BY_SYNTAX = frozenset(
    """
    ! != % & * + - / < << <= <=> <> = == > >= >> ^ and array between case cast current_database current_date
    current_schema current_timestamp div extract ilike in like not or regexp rlike trim uuid when | || ~
    """.split()
)
#: Names whose forms are written with another one.
_SYNONYMS = {"!": "not", "regexp": "rlike", "when": "case"}
#: Signs and words that the entries of these sections have beside their operands, not in front of parentheses.
_OPERATORS = frozenset("and between case div ilike in like not or rlike".split())
_OPERATORS |= frozenset(name for name in _BY_SYNTAX if not name.isidentifier())
_OPERATOR_SECTIONS = ("Operators", "Conditions", "Strings")


def runs_on_duckdb(name: str) -> bool:
    """Tests whether DuckDB runs a function or operator of Spark, by its name in lower case, in any form.

    >>> runs_on_duckdb("abs"), runs_on_duckdb("+"), runs_on_duckdb("aes_encrypt")
    (True, True, False)
    """
    return name in ALLOWED or name in _BY_SYNTAX


def forms_on_duckdb(name: str) -> tuple[str, ...]:
    """Returns the calls of a function, or the uses of an operator, that DuckDB runs, each with what it refuses of it.

    >>> forms_on_duckdb("md5"), forms_on_duckdb("~")
    (('md5(s)',), ('~a, except other than integers',))
    """
    return tuple(f"{entry.form}, except {entry.refused}" if entry.refused else entry.form for entry in entries_of(name))


def entries_of(name: str) -> tuple[Entry, ...]:
    """Returns the entries of the allow-list about a function or operator of Spark; none if DuckDB refuses it."""
    if not runs_on_duckdb(name):
        return ()
    name = _SYNONYMS.get(name, name)
    if name in _OPERATORS:
        # a AND b; -a; a & b, a | b; s [NOT] LIKE pattern
        form = re.compile(rf"(?:^|, )(?:[as] )?(?:\[NOT\] )?{re.escape(name)}(?=\s|a\b)", re.IGNORECASE)
        return tuple(entry for entry in entries() if entry.section in _OPERATOR_SECTIONS and form.search(entry.form))
    call = re.compile(rf"(?<!\w){re.escape(name)}\[?\(", re.IGNORECASE)
    return tuple(entry for entry in entries() if call.search(entry.form))
