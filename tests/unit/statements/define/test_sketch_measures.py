"""Measures THETA_UNION: declarations, what rollups serve, proofs, damaged sketches, and an absent library."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import rewriter
from rewriter.dbapi import Connection
from rewriter.exec.translate import theta_functions

WORLD = """CREATE CUBE v (page STRING, user_id BIGINT, n BIGINT MEASURE COUNT,
  who BINARY MEASURE THETA_UNION PRECISION 6, t TIMESTAMP TIME);
CREATE TABLE h (page STRING, user_id BIGINT, n BIGINT, who BINARY) PARTITIONED BY (dt STRING);
CREATE FACT f OF CUBE v STORED IN (TABLE h PERIOD HOURLY PARTITIONED BY t AS (dt)) ROLLUPS (DAILY, MONTHLY (page));
INSERT INTO h MARK COMPLETE FROM '2024-01-01' TO '2024-02-01'
  SELECT concat('p', id % 3), id % 7, COUNT(*), theta_sketch_agg(concat('u', id * 7919 % 1999), 8),
    date_format(timestamp_seconds(1704067200 + 3600 * (id % 744)), 'yyyy-MM-dd-HH')
  FROM range(3000) GROUP BY id % 3, id % 7, id % 744;
REFRESH FACT f"""
JANUARY = "t >= '2024-01-01' AND t < '2024-02-01'"
COLUMNS = "page STRING, n BIGINT MEASURE COUNT, t TIMESTAMP TIME"


def opened(path: Path) -> Connection:
    connection = rewriter.connect(path, engine="duckdb")
    for statement in WORLD.split(";"):
        connection.execute(statement)
    # A cover that the checker of certificates refutes is an error of the query.
    connection.execute("SET rewriter.verify = certificate")
    return connection


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Connection]:
    with opened(tmp_path / "w") as own:
        yield own


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    """A warehouse that tests do not change."""
    with opened(tmp_path_factory.mktemp("sketches") / "w") as shared:
        yield shared


def tables(connection: Connection, query: str) -> list[str]:
    """The tables whose partitions a query reads. The checker of certificates accepts its cover."""
    cursor = connection.execute(query)
    cursor.fetchall()
    verification = cursor.stats.verification
    assert verification is None or verification.is_accepted, verification.findings
    return [scan.table for scan in cursor.stats.scans]


def condition(connection: Connection, statement: str) -> str | None:
    with pytest.raises(rewriter.Error) as caught:
        connection.execute(statement)
    return caught.value.condition


def test_a_declaration_is_shown_as_it_was(connection: Connection) -> None:
    shown = connection.execute("SHOW CREATE CUBE v").fetchall()[0][0]
    assert "who binary MEASURE THETA_UNION PRECISION 6" in shown
    connection.execute(shown.replace("default.v", "w"))
    assert connection.execute("SHOW CREATE CUBE w").fetchall()[0][0] == shown.replace("default.v", "default.w")
    assert ("who", "binary", "MEASURE THETA_UNION", "PRECISION 6") in connection.execute("DESCRIBE CUBE v").fetchall()
    connection.execute(f"CREATE CUBE x ({COLUMNS}, who BINARY MEASURE THETA_UNION NOT NULL)")
    shown = connection.execute("SHOW CREATE CUBE x").fetchall()[0][0]
    assert "who binary MEASURE THETA_UNION PRECISION 12 NOT NULL" in shown


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        ("x STRING MEASURE THETA_UNION", "INVALID_CUBE"),
        ("x BINARY MEASURE THETA_UNION PRECISION 4", "INVALID_CUBE"),
        ("x BINARY MEASURE THETA_UNION PRECISION 27", "INVALID_CUBE"),
        ("x BINARY MEASURE THETA_UNION PRECISION 9.5", "PARSE_SYNTAX_ERROR"),
        ("x BINARY MEASURE THETA_UNION PRECISION 6 PRECISION 6", "DUPLICATE_CLAUSES"),
        ("x BIGINT MEASURE SUM PRECISION 6", "PARSE_SYNTAX_ERROR"),
    ],
)
def test_wrong_declarations(world: Connection, measure: str, expected: str) -> None:
    assert condition(world, f"CREATE CUBE w ({COLUMNS}, {measure})") == expected


@pytest.mark.parametrize(
    "call",
    ["theta_union_agg(who, 6)", "THETA_UNION_AGG(v.who, 5)", "theta_union_agg(who, 6) FILTER (WHERE page <> 'p1')",
     "theta_union(theta_union_agg(who, 5), theta_sketch_agg(user_id, 5), 5)", "theta_sketch_agg(user_id)",
     "theta_sketch_agg(concat(page, user_id), 5)", "theta_difference(theta_union_agg(who, 6), theta_union_agg(who, 5))",
     "theta_sketch_agg(DISTINCT user_id)"],
)  # fmt: skip
def test_rollups_serve_what_they_can_hold(world: Connection, call: str) -> None:
    query = f"SELECT theta_sketch_estimate({call}), hex({call}) AS x FROM v WHERE {JANUARY}"
    if "DISTINCT" in call:
        assert condition(world, query) == "DUCKDB_UNSUPPORTED"
        return
    read = tables(world, query)
    assert read
    assert "h" not in read
    of_base = query.replace(" FROM v", " FROM h AS v").replace(JANUARY, "true")
    assert world.execute(query).fetchall() == world.execute(of_base).fetchall()


@pytest.mark.parametrize(
    "call",
    ["theta_union_agg(who)", "theta_union_agg(who, 7)", "theta_intersection_agg(who)", "theta_sketch_agg(n)",
     "theta_union_agg(theta_union(who, who), 6)", "theta_union_agg(CASE WHEN page = 'p1' THEN who END, 6)"],
)  # fmt: skip
def test_anything_else_reads_the_base(world: Connection, call: str) -> None:
    query = f"SELECT theta_sketch_estimate({call}) AS x FROM v WHERE {JANUARY}"
    assert tables(world, query) == ["h"]
    of_base = query.replace(" FROM v", " FROM h").replace(JANUARY, "true")
    assert world.execute(query).fetchall() == world.execute(of_base).fetchall()


def test_queries_around_a_cube_take_sketches(world: Connection) -> None:
    for query in (
        "SELECT theta_sketch_estimate(theta_union_agg(w, 6)) FROM (SELECT page, theta_union_agg(who, 6) AS w FROM v "
        f"WHERE {JANUARY} GROUP BY page)",
        f"SELECT page FROM v WHERE {JANUARY} GROUP BY page HAVING theta_sketch_estimate(theta_union_agg(who, 6)) > 5 "
        "ORDER BY theta_sketch_estimate(theta_union_agg(who, 6)) DESC, page",
        f"WITH w AS (SELECT to_date(t) AS k, theta_union_agg(who, 6) AS w FROM v WHERE {JANUARY} GROUP BY 1) "
        "SELECT theta_sketch_estimate(theta_intersection_agg(w)) FROM w",
        f"SELECT page, theta_union_agg(who, 6) FROM v WHERE {JANUARY} GROUP BY GROUPING SETS ((page), ()) ORDER BY 1",
    ):
        base = query.replace(" FROM v", " FROM (SELECT *, to_timestamp(dt, 'yyyy-MM-dd-HH') AS t FROM h)")
        assert "h" not in tables(world, query)
        assert world.execute(query).fetchall() == world.execute(base).fetchall()


@pytest.mark.parametrize(
    ("sketch", "is_proven"),
    [
        ("theta_union_agg(who, 6)", True),
        ("theta_union_agg(who)", False),
        ("theta_union_agg(who, 5)", False),
        ("theta_intersection_agg(who)", False),
        ("theta_sketch_agg(user_id, 6)", False),
    ],
)
def test_an_insert_is_proven_with_the_precision_of_the_measure(
    connection: Connection, sketch: str, is_proven: bool
) -> None:
    cursor = connection.execute(
        f"INSERT OVERWRITE f_monthly_page SELECT page, SUM(n), {sketch}, '2024-01' FROM h WHERE dt >= '2024-01-01-00' "
        "AND dt < '2024-02-01-00' GROUP BY page"
    )
    assert any("unproven" in warning for warning in cursor.warnings) is not is_proven
    checked = {row[8] for row in connection.execute("CHECK FACT f").fetchall()}
    assert ("value differs" in checked) is (sketch not in ("theta_union_agg(who, 6)", "theta_union_agg(who)"))


def test_a_cube_gets_and_loses_sketches(connection: Connection) -> None:
    connection.execute("ALTER CUBE v RENAME COLUMN who TO people")
    query = f"SELECT theta_sketch_estimate(theta_union_agg(people, 6)) FROM v WHERE {JANUARY}"
    assert "h" not in tables(connection, query)
    connection.execute("ALTER TABLE h ADD COLUMNS (more BINARY)")
    connection.execute("ALTER CUBE v ADD (more BINARY MEASURE THETA_UNION)")
    connection.execute("REFRESH FACT f")
    assert connection.execute(query.replace("people, 6", "more")).fetchall() == [(0,)]
    assert {row[8] for row in connection.execute("CHECK FACT f").fetchall()} == {"agrees"}
    connection.execute("ALTER CUBE v DROP (people, more)")


def test_a_damaged_sketch_is_an_error(connection: Connection) -> None:
    connection.execute("INSERT INTO h SELECT 'p9', 1L, 1L, bitmap_construct_agg(1), '2024-01-05-07' FROM range(1)")
    with pytest.raises(
        rewriter.DataError, match=r"in the column who of the file \S+, in the partition dt=2024-01-05-07\."
    ) as caught:
        connection.execute(f"SELECT theta_union_agg(who, 6) FROM v WHERE {JANUARY} AND page = 'p9'")
    assert caught.value.condition == "THETA_INVALID_INPUT_SKETCH_BUFFER"
    assert caught.value.hint is not None
    with pytest.raises(rewriter.DataError, match="in the column who of the file") as caught:
        connection.execute("REFRESH FACT f")
    assert caught.value.condition == "THETA_INVALID_INPUT_SKETCH_BUFFER"
    assert caught.value.hint is not None


def test_an_absent_library_is_named(world: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(theta_functions, "find_spec", lambda name: None)
    with pytest.raises(rewriter.NotSupportedError, match="datasketches") as caught:
        world.execute("SELECT theta_sketch_estimate(theta_sketch_agg(id, 11)) FROM range(3)")
    assert "rewriter[sketches]" in (caught.value.hint or "")


EVENTS = """CREATE TABLE events (page STRING, visitor STRING, user_id BIGINT, at TIMESTAMP) PARTITIONED BY (dt STRING);
INSERT INTO events SELECT concat('p', id % 3), concat('V', id * 7919 % 5003), id * 31 % 40000,
  timestamp_seconds(1704067200 + 311 * id), date_format(timestamp_seconds(1704067200 + 311 * id), 'yyyy-MM-dd')
  FROM range(9000);
CREATE CUBE c (page STRING, bucket BIGINT, n BIGINT MEASURE COUNT, who BINARY MEASURE THETA_UNION PRECISION 9,
  ids BINARY MEASURE BITMAP_OR BUCKETED BY bucket, at TIMESTAMP TIME)"""
RAW = "CREATE FACT g OF CUBE c STORED IN (TABLE events PERIOD DAILY PARTITIONED BY at AS (dt) RAW ({})) ROLLUPS ({})"
EXPRESSIONS = (
    "bucket AS bitmap_bucket_number(user_id), who AS theta_sketch_agg(lower(visitor) -- who it was\n), "
    "ids AS bitmap_construct_agg(bitmap_bit_position(user_id))"
)
CUT = "at >= '2024-01-03' AND at < '2024-01-25 07:00'"


@pytest.fixture
def events(tmp_path: Path) -> Iterator[Connection]:
    with rewriter.connect(tmp_path / "w", engine="duckdb") as own:
        for statement in EVENTS.split(";"):
            own.execute(statement)
        own.execute("SET rewriter.verify = certificate")
        yield own


def check_events(connection: Connection, cube: str, tables_read: list[str]) -> None:
    over_cube = f"SELECT page, hex(theta_union_agg(who, 9)) FROM {cube} WHERE {CUT} GROUP BY page ORDER BY page"
    over_events = over_cube.replace(f"theta_union_agg(who, 9)) FROM {cube}", "theta_sketch_agg(person, 9)) FROM people")
    assert tables(connection, over_cube) == tables_read
    assert connection.execute(over_cube).fetchall() == connection.execute(over_events).fetchall()


def test_events_give_sketches_and_bitmaps(events: Connection) -> None:
    events.execute("CREATE VIEW people AS SELECT *, lower(visitor) AS person FROM events")
    events.execute(RAW.format(EXPRESSIONS, "DAILY, MONTHLY (page)"))
    users = f"SELECT SUM(u) FROM (SELECT bitmap_count(bitmap_or_agg(ids)) AS u FROM c WHERE {CUT} GROUP BY bucket)"
    counted = events.execute(f"SELECT COUNT(DISTINCT user_id) FROM events WHERE {CUT}").fetchall()
    check_events(events, "c", ["events"])
    assert events.execute(users).fetchall() == counted
    events.execute("REFRESH FACT g")
    check_events(events, "c", ["g_daily", "events"])
    assert events.execute(users).fetchall() == counted
    assert {row[8] for row in events.execute("CHECK FACT g").fetchall()} == {"agrees"}
    events.execute("INSERT OVERWRITE g_monthly_page SELECT 'p0', 1L, theta_sketch_agg('x', 9), '2024-01' FROM range(1)")
    assert {row[8] for row in events.execute("CHECK FACT g").fetchall()} >= {"value differs", "row missing"}


def test_the_values_of_events_follow_the_names_of_columns(events: Connection) -> None:
    events.execute(RAW.format(EXPRESSIONS, "DAILY"))
    events.execute("REFRESH FACT g")
    events.execute("ALTER TABLE events RENAME COLUMN visitor TO `the visitor` CASCADE")
    shown = events.execute("SHOW CREATE FACT g").fetchall()[0][0]
    assert "who AS theta_sketch_agg(lower(`the visitor`)" in shown
    events.execute("CREATE VIEW people AS SELECT *, lower(`the visitor`) AS person FROM events")
    check_events(events, "c", ["g_daily", "events"])


@pytest.mark.parametrize(
    "expression",
    [
        "who AS theta_sketch_agg(visitor, 10)",
        "who AS theta_sketch_agg(DISTINCT visitor)",
        "who AS theta_sketch_agg()",
        "who AS theta_sketch_agg(rand())",
        "who AS theta_sketch_agg(max(visitor))",
        "who AS bitmap_construct_agg(user_id)",
        "ids AS theta_sketch_agg(user_id)",
        "n AS theta_sketch_agg(user_id)",
        "who AS concat(theta_sketch_agg(visitor), theta_sketch_agg(visitor))",
    ],
)
def test_wrong_values_of_events(events: Connection, expression: str) -> None:
    given = [part for part in EXPRESSIONS.split(", ") if not part.startswith(expression.partition(" ")[0])]
    assert condition(events, RAW.format(", ".join([*given, expression]), "DAILY")) == "INVALID_FACT"


def test_a_value_of_events_that_is_not_sql_is_shown_at_its_place(events: Connection) -> None:
    statement = RAW.format(EXPRESSIONS.replace("lower(visitor)", "lower(visitor) +"), "DAILY")
    with pytest.raises(rewriter.ProgrammingError) as caught:
        events.execute(statement)
    position = caught.value.position
    assert position is not None
    assert statement[position.start : position.end] == "+"


def test_the_short_form_of_a_cube_makes_sketches(events: Connection) -> None:
    events.execute("CREATE VIEW people AS SELECT page, concat(visitor, '') AS person, user_id, at FROM events")
    events.execute(
        "CREATE CUBE s FROM people MEASURES (COUNT(*) AS n, THETA_SKETCH_AGG(person -- a comment\n, 9) AS who, "
        "THETA_SKETCH_AGG(user_id)) ROLLUPS (DAILY (page), MONTHLY)"
    )
    shown = events.execute("SHOW CREATE CUBE s").fetchall()[0][0]
    assert "who binary MEASURE THETA_UNION PRECISION 9" in shown
    assert "user_id binary MEASURE THETA_UNION PRECISION 12" in shown
    assert "person" not in shown
    check_events(events, "s", ["s_all_daily", "s_events"])
    assert {row[8] for row in events.execute("CHECK FACT s_all").fetchall()} == {"agrees"}


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        ("THETA_SKETCH_AGG(at) AS who", "INVALID_CUBE"),
        ("THETA_SKETCH_AGG(visitor, 27) AS who", "INVALID_CUBE"),
        ("THETA_SKETCH_AGG(visitor, page) AS who", "PARSE_SYNTAX_ERROR"),
        ("THETA_SKETCH_AGG(*) AS who", "PARSE_SYNTAX_ERROR"),
        ("THETA_SKETCH_AGG(DISTINCT visitor) AS who", "PARSE_SYNTAX_ERROR"),
        ("THETA_UNION_AGG(visitor) AS who", "PARSE_SYNTAX_ERROR"),
        ("THETA_SKETCH_AGG(visitor, 12, 3) AS who", "PARSE_SYNTAX_ERROR"),
        ("THETA_SKETCH_AGG(visitor, -8) AS who", "PARSE_SYNTAX_ERROR"),
        ("COUNT(visitor, 3) AS who", "PARSE_SYNTAX_ERROR"),
        ("COUNT(*, 1) AS who", "PARSE_SYNTAX_ERROR"),
        ("MAX(user_id, 1, 2) AS who", "PARSE_SYNTAX_ERROR"),
    ],
)
def test_wrong_measures_of_the_short_form(events: Connection, measure: str, expected: str) -> None:
    assert condition(events, f"CREATE CUBE s FROM events TIME at MEASURES (COUNT(*) AS n, {measure})") == expected


@pytest.mark.parametrize(
    "call", ["COUNT(DISTINCT visitor)", "approx_count_distinct(visitor)", "COUNT(DISTINCT v.visitor)"]
)
def test_a_count_of_absent_values_leads_to_the_sketch(world: Connection, call: str) -> None:
    with pytest.raises(rewriter.ProgrammingError) as caught:
        world.execute(f"SELECT {call} FROM v WHERE {JANUARY}")
    assert caught.value.hint == "who has sketches of values: theta_sketch_estimate(theta_union_agg(who, 6))."
