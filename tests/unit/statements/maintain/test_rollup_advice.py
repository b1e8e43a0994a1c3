"""RECOMMEND ROLLUPS, SHOW ROLLUP USE and the query log: the advice is run, and the rows that are read are compared with
what it promises.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from rewriter.catalog.maintenance.dump import dump
from rewriter.catalog.store import query_log, schema
from rewriter.errors import Error
from rewriter.runtime import query_log as session_log
from rewriter.runtime.query_log import without_literals
from rewriter.session import Session

WORLD = """
CREATE CUBE v (page STRING, country STRING, device STRING, n BIGINT MEASURE COUNT, ms BIGINT MEASURE SUM,
  t TIMESTAMP TIME);
CREATE TABLE h (page STRING, country STRING, device STRING, n BIGINT, ms BIGINT) PARTITIONED BY (dt STRING);
CREATE FACT f OF CUBE v STORED IN (TABLE h PERIOD DAILY PARTITIONED BY t AS (dt));
SET rewriter.now = '2024-01-01 00:00';
INSERT INTO h SELECT concat('p', CAST(id % 50 AS STRING)), concat('c', CAST(id % 7 AS STRING)),
  concat('d', CAST(id % 3 AS STRING)), 1L, id,
  date_format(timestamp_seconds(1672531200 + 86400 * (id DIV 400)), 'yyyy-MM-dd')
  FROM range(146000)
"""
BY_COUNTRY = "SELECT country, SUM(ms) AS s FROM v WHERE t >= '2023-03-01' AND t < '2023-11-01' GROUP BY country"
BY_PAGE = "SELECT page, COUNT(*) AS c FROM v WHERE t >= '2023-05-05' AND t < '2023-06-15' GROUP BY page"


@pytest.fixture
def session(tmp_path: Path, catalog_url: str | None) -> Iterator[Session]:
    with Session(tmp_path / "w", engine="duckdb", catalog=catalog_url) as opened:
        list(opened.script(WORLD))
        yield opened


@pytest.fixture
def advice(session: Session, tmp_path: Path) -> Callable[..., tuple[list[dict[str, Any]], tuple[str, ...]]]:
    """Returns a function that returns the rows and warnings of RECOMMEND for queries of a file."""

    def recommended(*queries: str, within: str = "") -> tuple[list[dict[str, Any]], tuple[str, ...]]:
        path = tmp_path / "queries.sql"
        path.write_text(";\n".join(queries), encoding="utf-8")
        return rows(session, f"RECOMMEND ROLLUPS FOR v FROM '{path}' {within}")

    return recommended


def rows(session: Session, statement: str) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    result = session.execute(statement)
    names = [column.name for column in result.columns]
    return [dict(zip(names, row, strict=True)) for row in result.rows()], result.warnings


def rows_read(session: Session, query: str) -> int:
    """Returns how many rows the partitions have that a query reads, from the catalog."""
    plan, snapshot = session.plan(query), session.snapshot()
    return sum(
        partition.rows or 0
        for use in plan.uses
        for partition in snapshot.partitions(use.table, use.ranges)
        if use.kept([partition.values]) == [True]
    )


def result(session: Session, query: str) -> list[Any]:
    return sorted(session.execute(query).rows())


def test_the_statements_run_and_save_what_they_promise(session: Session, advice: Any) -> None:
    queries = (BY_COUNTRY, BY_PAGE, "SELECT COUNT(DISTINCT page) AS d FROM v")
    before = {query: rows_read(session, query) for query in queries}
    results = {query: result(session, query) for query in queries}
    advised, warnings = advice(*queries)
    assert [row["statement"].partition(" ROLLUP ")[0] for row in advised] == ["ALTER FACT f ADD"] * len(advised)
    total = next(text for text in warnings if text.startswith("rows read by 3 queries"))
    for row in advised:
        session.execute(row["statement"])
    session.execute("REFRESH FACT f")
    after = {query: rows_read(session, query) for query in queries}
    assert sum(after.values()) < 0.02 * sum(before.values())
    promised = [int(number.replace(",", "")) for number in total.replace(", and", "").split() if number[0].isdigit()]
    assert promised[1] == pytest.approx(sum(before.values()), rel=0.02)
    assert promised[2] == pytest.approx(sum(after.values()), rel=0.25)
    for query in queries:
        assert result(session, query) == results[query]
    # The sizes are those that the tables have, within a factor of two.
    sizes = sum(row["bytes"] for row in advised)
    tables = [table for table in session.snapshot().tables() if table.name.startswith("f_")]
    stored = sum(partition.bytes for table in tables for partition in session.snapshot().partitions(table))
    assert stored / 2 < sizes < stored * 2
    assert {row["build_rows"] for row in advised} == {146_000}
    # Nothing is left to advise but little savings, and what was added is not added again.
    again, _ = advice(*queries)
    assert not {row["statement"] for row in again} & {row["statement"] for row in advised}


def test_a_file_of_two_queries(advice: Any) -> None:
    advised, warnings = advice(BY_COUNTRY, BY_COUNTRY.replace("2023-03", "2023-04"))
    assert [(row["statement"], row["queries"]) for row in advised] == [("ALTER FACT f ADD ROLLUP MONTHLY (country)", 2)]
    assert advised[0]["rows_after"] == (7 * (8 + 7))
    assert len(warnings) == 1


def test_bad_queries_of_a_file_are_named(advice: Any) -> None:
    advised, warnings = advice(
        BY_COUNTRY, "SELECT nope FROM v", "DROP TABLE h", "SELECT 1 AS x", "SELECT MAX(ms) AS m FROM v"
    )
    assert len(advised) == 1
    assert any("queries.sql, line 2, column 8: The cube v has no column nope." in text for text in warnings)
    assert any("queries.sql, line 3, column 1: Only queries need rollups." in text for text in warnings)
    assert any("has 1 query without v" in text for text in warnings)
    assert any(text.startswith("no rollup serves 1 query") for text in warnings)


@pytest.mark.parametrize(
    ("content", "condition"),
    [("", "QUERY_LOG_EMPTY"), ("SELECT nope FROM v", "QUERY_LOG_EMPTY"), ("SELECT 'a", "QUERY_LOG_EMPTY")],
)
def test_a_file_without_queries_is_refused(advice: Any, content: str, condition: str) -> None:
    with pytest.raises(Error) as caught:
        advice(content)
    assert caught.value.condition == condition
    assert caught.value.hint


def test_a_string_that_is_not_closed_costs_one_statement(session: Session, tmp_path: Path) -> None:
    """The lexer would find it at the last quote of the file. The statements before it and behind it count."""
    session.execute("ALTER FACT f ADD ROLLUP YEARLY (device)")
    session.execute("REFRESH FACT f")
    path = tmp_path / "queries.sql"
    broken = "SELECT page FROM v\nWHERE country = 'c1 AND page = 'p1'"
    path.write_text(f"{BY_COUNTRY};\n{broken}; -- a comment\n{BY_PAGE} ORDER BY page || ';' || 'x'; {BY_COUNTRY};\n")
    advised, warnings = rows(session, f"RECOMMEND ROLLUPS FOR v FROM '{path}'")
    assert any(f"{path}, line 3, column 35: This string is not closed." in text for text in warnings), warnings
    assert f"{path} has 1 query that is not understood: no rollup is listed with DROP" in warnings
    assert any(text.startswith("rows read by 3 queries") for text in warnings)
    assert [row["queries"] for row in advised if "(country)" in row["statement"]] == [2]
    assert not [row for row in advised if " DROP " in row["statement"]]
    use, warnings = rows(session, f"SHOW ROLLUP USE OF f FROM '{path}'")
    assert {row["table"]: row["queries"] for row in use} == {"h": 3, "f_yearly_device": 0}
    assert "This string is not closed" in str(warnings)


def test_the_use_that_a_file_would_make(session: Session, tmp_path: Path) -> None:
    """It is that of the log after the same queries, but for the time."""
    session.execute("ALTER FACT f ADD ROLLUP MONTHLY (country), YEARLY (device)")
    session.execute("REFRESH FACT f")
    queries = [BY_COUNTRY, BY_PAGE, *(BY_PAGE.replace("05-05", f"05-{day:02}") for day in range(1, 14))]
    (tmp_path / "q.sql").write_text(";\n".join([*queries, "SELECT nope FROM v"]))
    of_file, warnings = rows(session, f"SHOW ROLLUP USE OF f FROM '{tmp_path}/q.sql'")
    assert any("line 16, column 8: The cube v has no column nope." in text for text in warnings)
    assert [row.pop("last_used") for row in of_file] == [None] * 3
    session.execute("SET rewriter.query_log = on")
    for query in queries:
        result(session, query)
    of_log, warnings = rows(session, "SHOW ROLLUP USE OF f")
    assert warnings == ()
    for row in of_log:
        row.pop("last_used")
    # Five of the alike queries stand for the others.
    for own, other in zip(of_file, of_log, strict=True):
        assert own.pop("partitions") == pytest.approx(other.pop("partitions"), rel=0.05)
        assert own.pop("rows") == pytest.approx(other.pop("rows"), rel=0.05)
    assert of_file == of_log
    with pytest.raises(Error, match="PATH_NOT_FOUND"):
        session.execute(f"SHOW ROLLUP USE OF f FROM '{tmp_path}/none.sql'")


def test_a_log_that_cannot_be_written_is_told(session: Session, tmp_path: Path, catalog_url: str | None) -> None:
    """A copy of a warehouse is read-only: what its sessions run is in no log."""
    if catalog_url is not None:
        pytest.skip("the copy shares the catalog")
    session.execute("ALTER FACT f ADD ROLLUP YEARLY (device)")
    session.execute("REFRESH FACT f")
    session.close()
    shutil.copytree(tmp_path / "w", tmp_path / "copy")
    lost = "he query log lacks 2 queries of this session, because it could not be written: the warehouse"
    statements = ("RECOMMEND ROLLUPS FOR v", "SHOW ROLLUP USE OF f")
    with Session(tmp_path / "copy", engine="duckdb") as copy:
        copy.execute("SET rewriter.query_log = on")
        result(copy, BY_COUNTRY)
        result(copy, BY_PAGE)
        for statement in (*statements, *statements):
            with pytest.raises(Error, match="QUERY_LOG_EMPTY") as caught:
                copy.execute(statement)
            assert f"of the cube v. T{lost}" in caught.value.message
    with Session(tmp_path / "w", engine="duckdb") as original:
        original.execute("SET rewriter.query_log = on")
        result(original, BY_COUNTRY)
    shutil.rmtree(tmp_path / "copy")
    shutil.copytree(tmp_path / "w", tmp_path / "copy")
    with Session(tmp_path / "copy", engine="duckdb") as copy:
        copy.execute("SET rewriter.query_log = on")
        result(copy, BY_COUNTRY)
        result(copy, BY_PAGE)
        for statement in statements:
            listed, warnings = rows(copy, statement)
            assert f"t{lost}" in warnings[0], warnings
            # What the log lacks may need the rollup.
            assert not [row for row in listed if " DROP " in row.get("statement", "")]


def test_errors(session: Session, tmp_path: Path) -> None:
    for statement, condition in (
        ("RECOMMEND ROLLUPS FOR v", "QUERY_LOG_EMPTY"),
        ("SHOW ROLLUP USE OF f", "QUERY_LOG_EMPTY"),
        (f"RECOMMEND ROLLUPS FOR v FROM '{tmp_path}/none.sql'", "PATH_NOT_FOUND"),
        ("RECOMMEND ROLLUPS FOR w", "CUBE_NOT_FOUND"),
        ("RECOMMEND ROLLUPS FOR v WITHIN '2 bushels'", "PARSE_SYNTAX_ERROR"),
    ):
        with pytest.raises(Error) as caught:
            session.execute(statement)
        assert (caught.value.condition, caught.value.position is not None) == (condition, True), statement
    session.execute("CREATE CUBE empty (n BIGINT MEASURE COUNT, t TIMESTAMP TIME)")
    with pytest.raises(Error, match="NO_CANDIDATE_FACT"):
        session.execute("RECOMMEND ROLLUPS FOR empty")


def test_within_limits_the_bytes(advice: Any) -> None:
    queries = (BY_COUNTRY, BY_PAGE)
    free, _ = advice(*queries)
    limited, _ = advice(*queries, within="WITHIN '10 kB'")
    assert sum(row["bytes"] for row in free) > 10_000 >= sum(row["bytes"] for row in limited) > 0
    assert advice(*queries, within="WITHIN '1 B'")[0] == []


def test_unused_rollups_are_dropped_and_those_with_history_of_their_own_are_not(session: Session, advice: Any) -> None:
    session.execute("ALTER FACT f ADD ROLLUP DAILY (device), YEARLY (device), MONTHLY (country)")
    session.execute("REFRESH FACT f")
    advised, _ = advice(BY_COUNTRY)
    assert [row["statement"] for row in advised] == [
        "ALTER FACT f DROP ROLLUP DAILY (device)",
        "ALTER FACT f DROP ROLLUP YEARLY (device)",
    ]
    # The base of January leaves: what the rollup of days by device holds is nowhere else.
    session.execute("ALTER TABLE h DROP PARTITION (dt < '2023-02-01')")
    advised, _ = advice(BY_COUNTRY)
    dropped = [row["statement"] for row in advised if " DROP " in row["statement"]]
    assert "ALTER FACT f DROP ROLLUP DAILY (device)" not in dropped
    for statement in dropped:
        session.execute(statement)


def test_a_rollup_that_retention_will_need_stays(session: Session, advice: Any) -> None:
    session.execute("ALTER FACT f ADD ROLLUP MONTHLY, MONTHLY (device), MONTHLY (country)")
    session.execute("REFRESH FACT f")
    advised, _ = advice(BY_COUNTRY)
    assert len(advised) == 2
    session.execute("ALTER FACT f TABLE h SET RETAIN 5 YEARS")
    advised, _ = advice(BY_COUNTRY)
    assert [row["statement"] for row in advised] == ["ALTER FACT f DROP ROLLUP MONTHLY (device)"]


def test_only_base_rows_serve_what_the_law_says(advice: Any) -> None:
    """MAX of a SUM measure, single rows, and time as it is: no rollup is advised for them."""
    advised, warnings = advice("SELECT MAX(ms) AS m FROM v", "SELECT * FROM v", "SELECT MAX(t) AS t FROM v")
    assert advised == []
    assert any(text.startswith("no rollup serves") for text in warnings)
    advised, _ = advice("SELECT page, AVG(ms) AS a, COUNT(*) AS n FROM v WHERE t >= '2023-02-01' GROUP BY page")
    assert "SELECT" not in str(advised)


def test_units_bound_the_period(advice: Any) -> None:
    weekly = "SELECT date_trunc('WEEK', t) AS w, COUNT(*) AS c FROM v GROUP BY date_trunc('WEEK', t)"
    advised, _ = advice(weekly)
    assert [row["statement"] for row in advised] == ["ALTER FACT f ADD ROLLUP DAILY ()"]


# The query log.


def entries(session: Session) -> list[query_log.LoggedNeed]:
    with session.catalog.database.read() as connection:
        return list(query_log.logged_needs(connection, session.snapshot().cube("v").id))


def test_the_log_is_off_unless_it_is_asked_for(session: Session) -> None:
    result(session, BY_COUNTRY)
    with pytest.raises(Error, match="QUERY_LOG_EMPTY"):
        session.execute("RECOMMEND ROLLUPS FOR v")


def test_advice_from_the_log_and_the_use_of_tables(session: Session) -> None:
    session.execute("SET rewriter.query_log = on")
    for _ in range(3):
        result(session, BY_COUNTRY)
    result(session, BY_PAGE.replace("05-05", "05-08"))
    result(session, BY_PAGE)
    advised, _ = rows(session, "RECOMMEND ROLLUPS FOR v")
    by_statement = {row["statement"]: row["queries"] for row in advised}
    assert by_statement["ALTER FACT f ADD ROLLUP MONTHLY (country)"] == 3
    assert sum(entry.queries for entry in entries(session)) == 5
    session.execute("ALTER FACT f ADD ROLLUP MONTHLY (country), YEARLY (device)")
    session.execute("REFRESH FACT f")
    result(session, BY_COUNTRY)
    use, _ = rows(session, "SHOW ROLLUP USE OF f")
    found = {
        row["table"]: (row["queries"], row["partitions"], row["rows"], row["last_used"] is not None) for row in use
    }
    days = 3 * 245 + 41 + 38
    assert found == {
        "h": (5, days, 400 * days, True),
        "f_monthly_country": (1, 8, 56, True),
        "f_yearly_device": (0, 0, 0, False),
    }
    dropped = [row["statement"] for row in rows(session, "RECOMMEND ROLLUPS FOR v")[0] if " DROP " in row["statement"]]
    assert dropped == ["ALTER FACT f DROP ROLLUP YEARLY (device)"]


def test_queries_of_columns_that_are_gone_are_told(session: Session) -> None:
    session.execute("SET rewriter.query_log = on")
    for query in (BY_COUNTRY, BY_COUNTRY, BY_PAGE):
        result(session, query)
    session.execute("ALTER FACT f ADD ROLLUP YEARLY (device)")
    session.execute("REFRESH FACT f")
    session.execute("ALTER CUBE v DROP (country)")
    session.execute("ALTER CUBE v ADD (country STRING)")
    advised, warnings = rows(session, "RECOMMEND ROLLUPS FOR v")
    assert not [row for row in advised if "country" in row["statement"] or " DROP " in row["statement"]]
    assert "2 queries of the query log need country, a column that was dropped" in str(warnings)


def test_queries_count_for_the_column_and_not_for_its_name(session: Session, tmp_path: Path) -> None:
    """After a swap of two names, also for queries that another session had planned before, and wrote later."""
    with Session(session.catalog.warehouse, engine="duckdb", catalog=session.catalog) as other:
        for each in (session, other):
            each.execute("SET rewriter.query_log = on")
            result(each, BY_COUNTRY)
        by_statement, _ = rows(session, "RECOMMEND ROLLUPS FOR v")
        assert [row["statement"] for row in by_statement] == ["ALTER FACT f ADD ROLLUP MONTHLY (country)"]
        for old, new in (("country", "x"), ("device", "country"), ("x", "device")):
            session.execute(f"ALTER CUBE v RENAME COLUMN {old} TO {new}")
    advised, warnings = rows(session, "RECOMMEND ROLLUPS FOR v")
    assert [(row["statement"], row["queries"]) for row in advised] == [("ALTER FACT f ADD ROLLUP MONTHLY (device)", 2)]
    result(session, BY_COUNTRY.replace("country", "device"))
    result(session, BY_COUNTRY)
    rows(session, "SHOW ROLLUP USE OF f")
    assert Counter(json.loads(entry.need)[0][0] for entry in entries(session)) == {"country": 2, "device": 1}
    # A column that comes back is another one, and so are its names.
    session.execute("ALTER CUBE v DROP (device)")
    session.execute("ALTER CUBE v ADD (device STRING)")
    result(session, BY_COUNTRY.replace("country", "device"))
    advised, warnings = rows(session, "RECOMMEND ROLLUPS FOR v")
    assert [(row["statement"].partition("(")[2], row["queries"]) for row in advised] == [("country, device)", 2)]
    assert "3 queries of the query log need country, a column that was dropped" in str(warnings)
    lines = list(dump(session.catalog.database, session.catalog.warehouse))
    assert '"log_names":[["country",""],["device","country"],["device_2","device"]]' in str(lines).replace("\\", "")


def test_no_value_of_a_text_is_in_the_database(tmp_path: Path) -> None:
    with Session(tmp_path / "w", engine="duckdb") as session:
        list(session.script(WORLD))
        session.execute("SET rewriter.query_log = on")
        pages = "page IN ('hidden-page', \"other-hidden\")"
        secret = f"SELECT country FROM v WHERE {pages} AND ms > 918273645 AND t >= '2023-04-17'"
        list(session.execute(f"{secret} /* hidden-comment */").rows())
        list(session.execute("SELECT country FROM v WHERE page = :page", {"page": "hidden-parameter"}).rows())
    stored = b"".join(path.read_bytes() for path in (tmp_path / "w").glob("catalog.db*"))
    assert b"WHERE page IN ( ? ) AND ms > ? AND t >= ?" in stored
    for text in (b"hidden", b"918273645", b"2023-04-17T", b"'2023-04-17'"):
        assert text not in stored, text


def test_texts_without_literals() -> None:
    assert (
        without_literals("SELECT 1e3, 'x' -- y\nFROM `t` WHERE a IN (1, 2, 3)") == "SELECT ? FROM `t` WHERE a IN ( ? )"
    )
    assert without_literals("SELECT ? WHERE d = DATE'2020-01-01' AND :p") == "SELECT ? WHERE d = DATE ? AND ?"


def test_the_log_forgets_what_was_used_least_recently(session: Session) -> None:
    def logged(number: int, at: float) -> query_log.LoggedNeed:
        reads = {(7, "DAILY"): query_log.LoggedReads(1, 30, at)}
        return query_log.LoggedNeed(1, f"text {number}", "[]", 1, at, at, reads)

    with session.catalog.database.write() as connection:
        for number in range(6):
            query_log.add_logged(connection, [logged(number, float(number))], most=4)
        query_log.add_logged(connection, [logged(2, 9.0), logged(8, 8.0)], most=4)
        left = {entry.text: entry for entry in query_log.logged_needs(connection, 1)}
    assert set(left) == {"text 2", "text 4", "text 5", "text 8"}
    assert (left["text 2"].queries, left["text 2"].first_at, left["text 2"].last_at) == (2, 2.0, 9.0)
    assert left["text 2"].reads == {(7, "DAILY"): query_log.LoggedReads(2, 60, 9.0)}


def test_a_query_does_not_fail_because_of_the_log(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    session.execute("SET rewriter.query_log = on")
    monkeypatch.setattr(session_log, "_MOST_WAITING", 1)
    with session.catalog.database.write() as connection:
        connection.execute(sa.text("ALTER TABLE query_log RENAME TO lost"))
    returned = session.execute(BY_COUNTRY)
    assert len(list(returned.rows())) == 7
    assert any(
        text.startswith("the query log lacks some queries, the last 1 of this session: ") for text in returned.warnings
    )
    with session.catalog.database.write() as connection:
        connection.execute(sa.text("ALTER TABLE lost RENAME TO query_log"))
    result(session, BY_COUNTRY)
    assert [entry.queries for entry in entries(session)] == [1]


def test_sessions_add_to_one_log(session: Session) -> None:
    with Session(session.catalog.warehouse, engine="duckdb", catalog=session.catalog) as other:
        for each in (session, other):
            each.execute("SET rewriter.query_log = on")
            result(each, BY_COUNTRY)
    session.execute("SHOW ROLLUP USE OF f") if not entries(session) else None
    rows(session, "SHOW ROLLUP USE OF f")
    assert [entry.queries for entry in entries(session)] == [2]
    with session.catalog.database.read() as connection:
        assert connection.execute(sa.select(sa.func.count()).select_from(schema.query_log)).scalar() == 1


def test_queries_over_uncommitted_changes_are_not_noted(session: Session) -> None:
    session.execute("SET rewriter.query_log = on")
    session.execute("START TRANSACTION")
    session.execute("INSERT INTO h VALUES ('p', 'c', 'd', 1, 1, '2023-02-02')")
    result(session, BY_COUNTRY)
    session.execute("ROLLBACK")
    with pytest.raises(Error, match="QUERY_LOG_EMPTY"):
        session.execute("SHOW ROLLUP USE OF f")


# Cubes of other kinds: the advice runs there, too, and saves what it promises.

ZONED = """
CREATE CUBE z (item STRING, shop STRING, n BIGINT MEASURE COUNT, t TIMESTAMP TIME) TIME ZONE 'America/New_York';
CREATE TABLE zh (item STRING, shop STRING, n BIGINT) PARTITIONED BY (dt STRING);
CREATE FACT zf OF CUBE z STORED IN (TABLE zh PERIOD HOURLY PARTITIONED BY t AS (dt = 'yyyy-MM-dd-HH'));
SET rewriter.max_dynamic_partitions = 100000;
INSERT INTO zh SELECT concat('i', CAST(id % 20 AS STRING)), concat('s', CAST(id % 3 AS STRING)), 1L,
  date_format(timestamp_seconds(1704067200 + 3600 * (id DIV 40)), 'yyyy-MM-dd-HH') FROM range(80000)
"""
EVENTS = """
CREATE TABLE ev (item STRING, shop STRING, at TIMESTAMP) PARTITIONED BY (day DATE);
CREATE CUBE z (item STRING, shop STRING, n BIGINT MEASURE COUNT, t TIMESTAMP TIME);
CREATE FACT zf OF CUBE z STORED IN (TABLE ev PERIOD DAILY PARTITIONED BY t AS (day) RAW (n AS 1L, t AS at));
INSERT INTO ev SELECT concat('i', CAST(id % 20 AS STRING)), concat('s', CAST(id % 3 AS STRING)),
  timestamp_seconds(1704067200 + 90 * id), CAST(timestamp_seconds(1704067200 + 90 * id) AS DATE) FROM range(80000)
"""


@pytest.mark.parametrize("world", [ZONED, EVENTS], ids=["zone", "events"])
def test_cubes_of_a_zone_and_of_events(tmp_path: Path, world: str) -> None:
    by_day = "SELECT date_trunc('DAY', t) AS d, shop, COUNT(*) AS c FROM z GROUP BY date_trunc('DAY', t), shop"
    month = "SELECT COUNT(*) AS c FROM z WHERE t >= '2024-02-01' AND t < '2024-03-01'"
    minutes = "SELECT COUNT(*) AS c FROM z WHERE t >= '2024-01-20 10:10' AND t < '2024-01-20 11:50'"
    queries = [by_day, month, minutes] if world is EVENTS else [by_day, month]
    (tmp_path / "q.sql").write_text(";".join(queries), encoding="utf-8")
    with Session(tmp_path / "w", engine="duckdb") as session:
        list(session.script(world))
        before = [result(session, query) for query in queries]
        advised, warnings = rows(session, f"RECOMMEND ROLLUPS FOR z FROM '{tmp_path}/q.sql'")
        assert advised
        for row in advised:
            session.execute(row["statement"])
        session.execute("REFRESH FACT zf")
        assert [result(session, query) for query in queries] == before
        # The month is read of a rollup; a range inside of a day is read of its events.
        assert rows_read(session, month) <= 29 * 3
        if world is EVENTS:
            assert rows_read(session, minutes) == 960
        assert next(text for text in warnings if text.startswith("rows read by"))


def test_a_fact_of_another_database_with_fewer_columns(session: Session, tmp_path: Path) -> None:
    session.execute("CREATE DATABASE sales")
    for statement in (
        "CREATE CUBE sales.c (a STRING, b STRING, n BIGINT MEASURE COUNT, m BIGINT MEASURE SUM, t TIMESTAMP TIME)",
        "CREATE TABLE sales.days (a STRING, n BIGINT) PARTITIONED BY (dt STRING)",
        "CREATE FACT sales.few OF CUBE sales.c (a, n) "
        "STORED IN (TABLE sales.days PERIOD DAILY PARTITIONED BY t AS (dt))",
        "INSERT INTO sales.days SELECT concat('a', CAST(id % 9 AS STRING)), 1L, "
        "date_format(timestamp_seconds(1672531200 + 86400 * (id DIV 90)), 'yyyy-MM-dd') FROM range(9000)",
    ):
        session.execute(statement)
    (tmp_path / "q.sql").write_text("SELECT COUNT(*) AS c FROM sales.c", encoding="utf-8")
    (advised,), _ = rows(session, f"RECOMMEND ROLLUPS FOR sales.c FROM '{tmp_path}/q.sql'")
    assert advised["statement"] == "ALTER FACT sales.few ADD ROLLUP WEEKLY ()"
    session.execute("USE sales")
    (advised,), _ = rows(session, f"RECOMMEND ROLLUPS FOR c FROM '{tmp_path}/q.sql'")
    assert advised["statement"] == "ALTER FACT few ADD ROLLUP WEEKLY ()"
    session.execute(advised["statement"])


def test_an_external_table_needs_statistics(session: Session, tmp_path: Path) -> None:
    (tmp_path / "x" / "dt=2024-01-01").mkdir(parents=True)
    session.execute(f"CREATE EXTERNAL TABLE x (a STRING, n BIGINT) PARTITIONED BY (dt STRING) LOCATION '{tmp_path}/x'")
    session.execute("CREATE CUBE xc (a STRING, n BIGINT MEASURE COUNT, t TIMESTAMP TIME)")
    session.execute("CREATE FACT xf OF CUBE xc STORED IN (TABLE x PERIOD DAILY PARTITIONED BY t AS (dt))")
    session.execute("ALTER TABLE x ADD PARTITION (dt = '2024-01-01')")
    (tmp_path / "q.sql").write_text("SELECT COUNT(*) AS c FROM xc", encoding="utf-8")
    with pytest.raises(Error, match="STATISTICS_MISSING") as caught:
        session.execute(f"RECOMMEND ROLLUPS FOR xc FROM '{tmp_path}/q.sql'")
    assert caught.value.hint == "ANALYZE TABLE x COMPUTE STATISTICS counts them."
    session.execute("ANALYZE TABLE x COMPUTE STATISTICS")
    session.execute(f"RECOMMEND ROLLUPS FOR xc FROM '{tmp_path}/q.sql'")
