"""Measures BOOL_AND, BOOL_OR, BIT_AND, BIT_OR and BITMAP_OR: declarations, what rollups serve, what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import rewriter
from rewriter.dbapi import Connection

CUBE = """CREATE CUBE v (page STRING, bucket BIGINT, n BIGINT MEASURE COUNT, paid BOOLEAN MEASURE BOOL_OR,
  good BOOLEAN MEASURE BOOL_AND, flags INT MEASURE BIT_OR, mask BIGINT MEASURE BIT_AND,
  ids BINARY MEASURE BITMAP_OR BUCKETED BY bucket, t TIMESTAMP TIME)"""
WORLD = f"""{CUBE};
CREATE TABLE h (page STRING, bucket BIGINT, n BIGINT, paid BOOLEAN, good BOOLEAN, flags INT, mask BIGINT, ids BINARY)
  PARTITIONED BY (dt STRING);
CREATE FACT f OF CUBE v STORED IN (TABLE h PERIOD HOURLY PARTITIONED BY t AS (dt)) ROLLUPS (DAILY, MONTHLY (page));
INSERT INTO h MARK COMPLETE FROM '2024-01-01' TO '2024-02-01'
  SELECT concat('p', id % 3), bitmap_bucket_number(id * 97), 1, id % 11 = 0, id % 13 <> 0, CAST(id % 32 AS INT),
    id % 64, bitmap_construct_agg(bitmap_bit_position(id * 97)),
    date_format(timestamp_seconds(1704067200 + 3600 * (id % 744)), 'yyyy-MM-dd-HH')
  FROM range(1500) GROUP BY id;
REFRESH FACT f"""
JANUARY = "t >= '2024-01-01' AND t < '2024-02-01'"


def opened(path: Path) -> Connection:
    connection = rewriter.connect(path, engine="duckdb")
    for statement in WORLD.split(";"):
        connection.execute(statement)
    return connection


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Connection]:
    with opened(tmp_path / "w") as own:
        yield own


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    """A warehouse that tests do not change."""
    with opened(tmp_path_factory.mktemp("kinds") / "w") as shared:
        yield shared


def tables(connection: Connection, query: str) -> list[str]:
    """The tables whose partitions a query reads."""
    cursor = connection.execute(query)
    cursor.fetchall()
    return [scan.table for scan in cursor.stats.scans]


def condition(connection: Connection, statement: str) -> str | None:
    with pytest.raises(rewriter.Error) as caught:
        connection.execute(statement)
    assert caught.value.hint
    return caught.value.condition


def test_a_declaration_is_shown_as_it_was(connection: Connection) -> None:
    shown = connection.execute("SHOW CREATE CUBE v").fetchall()[0][0]
    assert "ids binary MEASURE BITMAP_OR BUCKETED BY bucket" in shown
    connection.execute(shown.replace("default.v", "w"))
    assert connection.execute("SHOW CREATE CUBE w").fetchall()[0][0] == shown.replace("default.v", "default.w")
    described = {row[0]: row[2:] for row in connection.execute("DESCRIBE CUBE v").fetchall()}
    assert described["mask"] == ("MEASURE BIT_AND", "")
    assert described["ids"] == ("MEASURE BITMAP_OR", "BUCKETED BY bucket")


@pytest.mark.parametrize(
    "measure",
    [
        "x INT MEASURE BOOL_OR",
        "x STRING MEASURE BOOL_AND",
        "x DOUBLE MEASURE BIT_OR",
        "x BOOLEAN MEASURE BIT_AND",
        "x STRING MEASURE BITMAP_OR BUCKETED BY bucket",
        "x BINARY MEASURE BITMAP_OR BUCKETED BY page",
        "x BINARY MEASURE BITMAP_OR BUCKETED BY n",
        "x BINARY MEASURE BITMAP_OR BUCKETED BY absent",
    ],
)
def test_types_that_do_not_fit(world: Connection, measure: str) -> None:
    columns = "page STRING, bucket BIGINT, n BIGINT MEASURE COUNT, t TIMESTAMP TIME"
    assert condition(world, f"CREATE CUBE w ({columns}, {measure})") == "INVALID_CUBE"


def test_buckets_belong_to_bitmaps(world: Connection) -> None:
    for measure in ("x BINARY MEASURE BITMAP_OR", "x BIGINT MEASURE SUM BUCKETED BY b"):
        assert condition(world, f"CREATE CUBE w (b BIGINT, {measure}, t TIMESTAMP TIME)") == "PARSE_SYNTAX_ERROR"


@pytest.mark.parametrize(
    "call",
    ["bool_or(paid)", "some(paid)", "any(paid)", "bool_and(good)", "every(good)", "bit_or(flags)", "bit_and(mask)",
     "bool_or(paid) FILTER (WHERE page <> 'p1')", "bit_or(bucket)"],
)  # fmt: skip
def test_an_aggregate_of_its_own_kind_reads_rollups(world: Connection, call: str) -> None:
    query = f"SELECT {call} AS x FROM v WHERE {JANUARY}"
    read = tables(world, query)
    assert read
    assert "h" not in read
    of_base = query.replace(" FROM v", " FROM h").replace(JANUARY, "true")
    assert world.execute(query).fetchall() == world.execute(of_base).fetchall()


@pytest.mark.parametrize(
    "call",
    ["bool_and(paid)", "bool_or(good)", "bit_and(flags)", "bit_or(mask)", "bit_or(flags + 1)", "bool_or(NOT paid)",
     "bit_xor(flags)", "bit_or(flags) + max(flags)", "count(paid)"],
)  # fmt: skip
def test_any_other_aggregate_reads_the_base(world: Connection, call: str) -> None:
    query = f"SELECT {call} AS x FROM v WHERE {JANUARY}"
    assert tables(world, query) == ["h"]
    of_base = query.replace(" FROM v", " FROM h").replace(JANUARY, "true")
    assert world.execute(query).fetchall() == world.execute(of_base).fetchall()


BITMAPS = "bitmap_count(bitmap_or_agg(ids))"


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT bucket, {BITMAPS} FROM v GROUP BY bucket",
        f"SELECT bucket AS b, {BITMAPS} FROM v GROUP BY b",
        f"SELECT bucket, {BITMAPS} FROM v GROUP BY 1",
        f"SELECT bucket, {BITMAPS} FROM v GROUP BY ALL",
        f"SELECT {BITMAPS} FROM v WHERE page = 'p1' AND (2 = bucket)",
        f"SELECT bucket, page, {BITMAPS} FROM v GROUP BY bucket, ROLLUP (page)",
        f"SELECT bucket, page, {BITMAPS} FROM v GROUP BY bucket, GROUPING SETS ((page), ())",
        "SELECT b, bitmap_count(bitmap_or_agg(i)) FROM (SELECT bucket AS b, ids AS i FROM v) GROUP BY b",
        "SELECT bitmap_count(bitmap_or_agg(ids) OVER (PARTITION BY bucket)) FROM v",
        f"SELECT v.bucket, {BITMAPS} FROM v JOIN (SELECT 1L AS bucket) x ON x.bucket = v.bucket GROUP BY v.bucket",
        "SELECT bitmap_count(bitmap_or_agg(u)) FROM (SELECT bucket, bitmap_or_agg(ids) AS u FROM v GROUP BY bucket)",
    ],
)
def test_bitmaps_of_one_bucket_are_united(world: Connection, query: str) -> None:
    assert world.execute(query).fetchall()


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT {BITMAPS} FROM v",
        f"SELECT page, {BITMAPS} FROM v GROUP BY page",
        f"SELECT page AS bucket, {BITMAPS} FROM v GROUP BY page",
        f"SELECT bucket % 2 AS bucket, {BITMAPS} FROM v GROUP BY 1",
        f"SELECT {BITMAPS} FROM v WHERE bucket IN (1, 2)",
        f"SELECT {BITMAPS} FROM v WHERE bucket = 2 OR page = 'p1'",
        f"SELECT bucket, {BITMAPS} FROM v GROUP BY ROLLUP (bucket)",
        f"SELECT bucket, page, {BITMAPS} FROM v GROUP BY bucket, page WITH ROLLUP",
        f"SELECT bucket, page, {BITMAPS} FROM v GROUP BY bucket, page WITH CUBE",
        f"SELECT bucket, page, {BITMAPS} FROM v GROUP BY bucket, page GROUPING SETS ((page), (bucket))",
        f"SELECT page FROM v GROUP BY page ORDER BY {BITMAPS}",
        f"SELECT page FROM v GROUP BY page HAVING {BITMAPS} > 1",
        "SELECT bitmap_count(bitmap_or_agg(ids) OVER (PARTITION BY page)) FROM v",
        "SELECT p, bitmap_count(bitmap_or_agg(i)) FROM (SELECT page AS p, bucket AS b, ids AS i FROM v) GROUP BY p",
        f"SELECT x.bucket, {BITMAPS} FROM v JOIN (SELECT 1L AS bucket) x ON true GROUP BY x.bucket",
        "INSERT INTO f_monthly_page SELECT page, SUM(n), bool_or(paid), every(good), bit_or(flags), "
        f"CAST({BITMAPS} AS BIGINT), '2023-01' FROM v WHERE {JANUARY} GROUP BY page",
    ],
)
def test_bitmaps_of_several_buckets_are_not_united(world: Connection, query: str) -> None:
    assert condition(world, query) == "UNITED_BUCKETS"


def test_ids_are_counted_exactly(world: Connection) -> None:
    query = f"SELECT SUM(u) FROM (SELECT bucket, {BITMAPS} AS u FROM v WHERE {JANUARY} GROUP BY bucket)"
    assert world.execute(query).fetchall() == [(1500,)]
    assert tables(world, query) == ["f_daily"]


def test_a_rollup_without_the_bucket_has_no_bitmaps(connection: Connection) -> None:
    columns = [row[0] for row in connection.execute("SHOW COLUMNS IN f_monthly_page").fetchall()]
    assert columns == ["page", "n", "paid", "good", "flags", "mask", "dt"]
    assert "MONTHLY (page)" in connection.execute("SHOW CREATE FACT f").fetchall()[0][0]
    connection.execute("ALTER TABLE h ADD COLUMNS (more BINARY)")
    connection.execute("ALTER CUBE v ADD (more BINARY MEASURE BITMAP_OR BUCKETED BY bucket)")
    connection.execute("REFRESH FACT f")
    assert [row[0] for row in connection.execute("SHOW COLUMNS IN f_monthly_page").fetchall()] == columns
    assert {row[8] for row in connection.execute("CHECK FACT f").fetchall()} == {"agrees"}
    connection.execute("ALTER FACT f DROP ROLLUP MONTHLY (page)")


def test_the_bucket_keeps_its_measure(connection: Connection) -> None:
    assert condition(connection, "ALTER CUBE v DROP (bucket)") == "INVALID_CUBE"
    connection.execute("ALTER CUBE v RENAME COLUMN bucket TO part")
    assert "BITMAP_OR BUCKETED BY part" in connection.execute("SHOW CREATE CUBE v").fetchall()[0][0]
    assert connection.execute(f"SELECT part, {BITMAPS} FROM v GROUP BY part").fetchall()
    connection.execute("ALTER CUBE v DROP (part, ids)")


@pytest.mark.parametrize(
    ("page", "is_proven"),
    [
        ("BOOL_OR(paid), every(good), bit_or(flags), bit_and(mask)", True),
        ("some(paid), bool_and(good), bit_or(flags), bit_and(mask)", True),
        ("bool_and(paid), bool_and(good), bit_or(flags), bit_and(mask)", False),
        ("bool_or(paid), bool_and(good), max(flags), bit_and(mask)", False),
        ("bool_or(paid), bool_and(good), bit_or(flags), bit_and(mask) + 0", False),
    ],
)
def test_an_insert_that_uses_the_aggregates_of_the_kinds_is_proven(
    connection: Connection, page: str, is_proven: bool
) -> None:
    cursor = connection.execute(
        f"INSERT OVERWRITE f_monthly_page SELECT page, SUM(n), {page}, '2024-01' FROM h WHERE dt >= '2024-01-01-00' "
        "AND dt < '2024-02-01-00' GROUP BY page"
    )
    assert any("unproven" in warning for warning in cursor.warnings) is not is_proven


def test_the_short_form_of_a_cube_takes_them(connection: Connection) -> None:
    connection.execute(
        "CREATE VIEW events AS SELECT concat('p', id % 3) AS page, id % 5 = 0 AS paid, CAST(id % 9 AS INT) AS bits, "
        "timestamp_seconds(1704067200 + 3600 * id) AS at FROM range(100)"
    )
    connection.execute(
        "CREATE CUBE e FROM events DIMENSIONS (page) MEASURES (COUNT(*) AS n, BOOL_OR(paid) AS any_paid, "
        "BIT_AND(bits) AS common, BIT_OR(bits)) ROLLUPS (MONTHLY (page))"
    )
    aggregates = "page, bool_or({}) AS a, bit_and({}) AS b, bit_or(bits) AS c FROM {} GROUP BY page ORDER BY page"
    expected = connection.execute("SELECT " + aggregates.format("paid", "bits", "events")).fetchall()
    assert connection.execute("SELECT " + aggregates.format("any_paid", "common", "e")).fetchall() == expected


def test_a_narrower_column_keeps_the_type_of_the_cube(connection: Connection) -> None:
    connection.execute("ALTER CUBE v ALTER COLUMN flags TYPE BIGINT")
    described = connection.execute(f"SELECT bit_or(flags) AS x, bit_and(mask) AS y FROM v WHERE {JANUARY}").description
    assert [column[1] for column in described] == ["bigint", "bigint"]
