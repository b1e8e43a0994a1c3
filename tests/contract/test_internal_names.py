"""Names of the translation to DuckDB are in no message; a cube where a table is needed is told its storage tables."""

from __future__ import annotations

import re

import pytest

from rewriter.errors import AnalysisError, Error
from rewriter.session import Session

SUBQUERY = "(SELECT carrier AS k, distance AS d, price AS p FROM base) x"
#: Queries that fail, and the column that the message names.
FAILING = {
    f"SELECT k, d FROM {SUBQUERY} GROUP BY k": "d",
    f"SELECT k, d + 1 FROM {SUBQUERY} GROUP BY k": "d",
    f"SELECT k, x.d FROM {SUBQUERY} GROUP BY k": "x.d",
    f"SELECT k, SUM(d) FROM {SUBQUERY}": "k",
    f"SELECT k FROM {SUBQUERY} GROUP BY k HAVING d > 1": "d",
    f"SELECT k FROM {SUBQUERY} GROUP BY k ORDER BY d": "d",
    f"SELECT k, SUM(d) OVER () FROM {SUBQUERY} GROUP BY k": "d",
    "SELECT carrier, distance FROM c GROUP BY carrier": "distance",
    f"WITH w AS (SELECT k, SUM(d) AS s FROM {SUBQUERY} GROUP BY k) SELECT k, s FROM w GROUP BY k": "s",
    f"SELECT SUM(SUM(d)) FROM {SUBQUERY}": "",
    f"SELECT SUM(d) FROM {SUBQUERY} WHERE SUM(d) > 1": "",
    f"SELECT CAST(k AS INT) FROM {SUBQUERY}": "",
    f"SELECT d / 0 FROM {SUBQUERY}": "",
    f"SELECT d * 9223372036854775807 FROM {SUBQUERY}": "",
    f"SELECT nosuch FROM {SUBQUERY}": "nosuch",
    f"SELECT k FROM {SUBQUERY} JOIN {SUBQUERY.replace(') x', ') y')} ON x.k = y.k": "k",
}
#: Queries of groups in which every column is grouped or aggregated, in ways that are easily missed.
GROUPED = (
    "SELECT carrier, SUM(distance) FILTER (WHERE flights = 1) FROM base GROUP BY carrier",
    "SELECT upper(carrier), concat(upper(carrier), 'x') FROM base GROUP BY upper(carrier)",
    "SELECT (carrier), SUM(SUM(distance)) OVER (ORDER BY carrier) FROM base GROUP BY (carrier)",
    "SELECT carrier AS k, COUNT(*) FROM base GROUP BY k ORDER BY concat(carrier, 'x')",
    "SELECT 1, COUNT(*) FROM base",
    "SELECT carrier, month(t), SUM(distance) FROM base GROUP BY ROLLUP (carrier, month(t))",
    "SELECT CASE WHEN carrier = 'UA' THEN 1 END, COUNT(*) FROM base GROUP BY CASE WHEN carrier = 'UA' THEN 1 END",
    "SELECT carrier, COUNT(*) FROM base GROUP BY ALL",
    "SELECT DISTINCT carrier, distance FROM base",
)
WRITES = (
    "INSERT INTO {} VALUES ('UA', 1, 1, 1.0, 1, '2013-01-01-00')",
    "INSERT OVERWRITE {} SELECT * FROM base",
    "ALTER TABLE {} ADD PARTITION (dt = '2013')",
    "SHOW PARTITIONS {}",
)


@pytest.mark.share(4, "spark")
@pytest.mark.parametrize("query", FAILING)
def test_a_message_has_the_names_of_the_query(
    cube_session: Session, query: str, request: pytest.FixtureRequest
) -> None:
    with pytest.raises(Error) as caught:
        cube_session.execute(query).fetch()
    assert not re.search(r"\b[cs]\d+\b|list_transform|rw_", str(caught.value))
    if "duckdb" in request.node.name:
        assert FAILING[query] in caught.value.message


@pytest.mark.share(4, "spark")
@pytest.mark.parametrize("query", GROUPED)
def test_a_grouped_column_is_no_error(cube_session: Session, query: str) -> None:
    cube_session.execute(query).fetch()


@pytest.mark.parametrize("statement", WRITES)
def test_a_cube_or_a_fact_is_no_table_and_names_its_tables(cube_session: Session, statement: str) -> None:
    for name, meaning in (("c", "a cube"), ("f", "a fact")):
        with pytest.raises(AnalysisError) as caught:
            cube_session.execute(statement.format(name))
        assert caught.value.condition == "TABLE_OR_VIEW_NOT_FOUND"
        assert f"'{name}' is {meaning}" in str(caught.value.hint)
        assert "Name a storage table: hours (HOURLY), days (DAILY), months (MONTHLY)." in str(caught.value.hint)
