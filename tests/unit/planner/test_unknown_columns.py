"""A column that no relation of a query over a cube offers: the planner names it, and suggests from all columns."""

from __future__ import annotations

import pytest

from rewriter.errors import AnalysisError

from .fakes import plan

#: Queries, the unknown column as typed, and what the hint says.
UNKNOWN = {
    "SELECT nosuch FROM flights": ("nosuch", "The columns are origin, carrier, "),
    "SELECT SUM(distanze) FROM flights": ("distanze", "Did you mean distance?"),
    "SELECT carrier AS k FROM flights ORDER BY distanze": ("distanze", "Did you mean distance?"),
    "SELECT origim FROM flights f JOIN airlines a ON f.carrier = a.carrier": ("origim", "Did you mean origin?"),
    "SELECT nam FROM flights f JOIN airlines a ON f.carrier = a.carrier": ("nam", "Did you mean name?"),
    "SELECT f.name FROM flights f JOIN airlines a ON f.carrier = a.carrier": ("f.name", "columns are origin, carrier"),
    "SELECT name FROM airlines WHERE carrier IN (SELECT carier FROM flights)": ("carier", "Did you mean carrier?"),
    "SELECT name, (SELECT MAX(distanze) FROM flights) FROM airlines": ("distanze", "Did you mean distance?"),
    "SELECT d FROM (SELECT SUM(distanze) AS d FROM flights GROUP BY carrier) x": ("distanze", "Did you mean distance?"),
    "SELECT k FROM (SELECT name AS k FROM airlines UNION ALL SELECT nam FROM flights) x": (
        "nam",
        "columns are origin, carrier",
    ),
    "WITH x AS (SELECT MAX(origim) AS o FROM flights) SELECT o FROM x": ("origim", "Did you mean origin?"),
    "SELECT nosuch FROM (SELECT carrier AS k FROM flights) x": ("nosuch", "The columns are k."),
}
#: Names that the cube does not offer, which are no error of the planner's.
KNOWN = (
    "SELECT name FROM flights f JOIN airlines a ON f.carrier = a.carrier",
    "SELECT carrier AS k FROM flights GROUP BY carrier ORDER BY k",
    "SELECT carrier AS k, k FROM flights",
    "SELECT x.b FROM (SELECT carrier AS k, concat(k, '!') AS kk FROM flights) x (a, b)",
    "SELECT name FROM airlines WHERE EXISTS (SELECT 1 FROM flights f WHERE f.carrier = name)",
    "SELECT name FROM airlines WHERE EXISTS (SELECT 1 FROM (SELECT carrier FROM flights WHERE origin = name) x)",
    "SELECT name FROM airlines WHERE EXISTS (SELECT 1 FROM (SELECT origin FROM flights GROUP BY ALL) x, flights f "
    "WHERE f.carrier = (SELECT MAX(origin) FROM flights WHERE carrier = name))",
    "SELECT carrier FROM flights LATERAL VIEW explode(array(1)) e AS n WHERE n = 1",
    "SELECT carrier, n FROM flights JOIN (SELECT 1 AS n) x",
    "SELECT name FROM airlines a JOIN LATERAL (SELECT MAX(origin) AS o FROM flights WHERE carrier = name) x",
    "SELECT carrier, COUNT(*) FROM flights GROUP BY carrier ORDER BY `count(1)`",
)


@pytest.mark.parametrize("query", UNKNOWN)
def test_an_unknown_column_is_named_with_a_hint(query: str) -> None:
    with pytest.raises(AnalysisError) as caught:
        plan(query)
    typed, hint = UNKNOWN[query]
    assert (caught.value.condition, caught.value.sqlstate) == ("UNRESOLVED_COLUMN.WITH_SUGGESTION", "42703")
    assert caught.value.position is not None
    assert query[caught.value.position.start : caught.value.position.end] == typed
    assert hint in str(caught.value.hint)


@pytest.mark.parametrize("query", KNOWN)
def test_other_names_are_left_to_the_engine(query: str) -> None:
    assert plan(query).coverage.references
