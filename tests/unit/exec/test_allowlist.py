"""The allow-list of DuckDB: each entry is proven, and its page is generated from it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from contract import proof_clauses, proof_nested, proof_time_types
from contract.proof_expressions import CASTS, EDGES, PLAIN, UNNAMED
from contract.proof_queries import ANSWERED, APPROXIMATE
from contract.proof_scalar_functions import AGGREGATES, SCALARS
from contract.proofs import declared, query

import rewriter
from rewriter.exec.translate.allowlist import document, entries
from rewriter.exec.translate.allowlist_entries import Entry
from rewriter.exec.translate.queries import translate

_PAGE = Path(rewriter.__file__).parent.parent / "docs" / "reference" / "duckdb.md"


@pytest.fixture(scope="module")
def proven() -> frozenset[Entry]:
    """Returns the entries that the differential tests use."""
    queries = [
        *(f"SELECT {expression} FROM t" for expression in (*PLAIN, *UNNAMED)),
        *(f"SELECT {expression} FROM e" for expression in (*EDGES, *CASTS, *SCALARS, *proof_time_types.EXPRESSIONS)),
        *ANSWERED,
        *AGGREGATES,
        *proof_clauses.ANSWERED,
        *(f"SELECT {expression} FROM v" for expression in proof_nested.NESTED),
        *proof_nested.QUERIES,
        *proof_time_types.QUERIES,
        *APPROXIMATE,
    ]
    allowed = declared()
    return frozenset().union(*(translate(query(sql, allowed)).entries for sql in queries))


def test_every_entry_is_proven(proven: frozenset[Entry]) -> None:
    assert [entry for entry in entries() if entry not in proven] == []


def test_only_entries_are_used(proven: frozenset[Entry]) -> None:
    assert proven <= set(entries())


def test_an_entry_stands_once() -> None:
    assert {entry: n for entry, n in Counter((e.section, e.form) for e in entries()).items() if n > 1} == {}


def test_the_page_is_the_list() -> None:
    assert _PAGE.read_text(encoding="utf-8") == document(), (
        "run: python -m rewriter.exec.translate.allowlist > docs/reference/duckdb.md"
    )
