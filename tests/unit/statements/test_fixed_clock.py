"""SET rewriter.now fixes the present time of all statements, also of those that plan nothing by it."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from rewriter.session import Session

QUERIES = (
    "SELECT now() AS n, current_date() AS d",
    "SELECT current_timestamp AS n, curdate() AS d FROM t",
    "SELECT * FROM v",
    "SELECT n, d FROM (SELECT now() AS n, current_date AS d) WHERE d = current_date() AND year(now()) = year(n)",
)


@pytest.mark.parametrize("query", QUERIES)
def test_every_query_has_the_fixed_time(tmp_path: Path, query: str) -> None:
    with Session(tmp_path, "duckdb") as session:
        session.execute("CREATE TABLE t AS SELECT 1 AS now")
        session.execute("CREATE VIEW v AS SELECT now() AS n, current_date() AS d")
        for day in (3, 5, 3):
            session.execute(f"SET rewriter.now = '2024-02-0{day}T04:05:06'")
            for _ in range(2):
                assert session.execute(query).fetch() == [
                    (datetime(2024, 2, day, 4, 5, 6, tzinfo=UTC), date(2024, 2, day))
                ]
        session.execute("SET rewriter.now = ''")
        ((now, _),) = session.execute(query).fetch()
        assert abs((datetime.now(UTC) - now).total_seconds()) < 600
        assert session.execute("SELECT now FROM t").fetch() == [(1,)]


def test_what_is_written_has_the_fixed_time(tmp_path: Path) -> None:
    with Session(tmp_path, "duckdb") as session:
        session.execute("SET rewriter.now = '2024-02-03'")
        session.execute("CREATE TABLE t AS SELECT current_date() AS d")
        session.execute("INSERT INTO t SELECT date_add(current_date(), 1)")
        assert session.execute("SELECT d FROM t ORDER BY d").fetch() == [(date(2024, 2, 3),), (date(2024, 2, 4),)]
        session.execute("INSERT INTO t VALUES (current_date())")
        assert session.execute("SELECT COUNT(*) FROM t WHERE d = DATE '2024-02-03'").fetch() == [(2,)]
