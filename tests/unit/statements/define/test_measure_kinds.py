"""Measures of other kinds than COUNT, SUM, MIN and MAX: declarations, what rollups serve, what is refused."""

from __future__ import annotations

import re
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
        view = "SELECT page, bucket, bitmap_or_agg(ids) AS i FROM v GROUP BY page, bucket"
        shared.execute(f"CREATE VIEW by_bucket AS {view}")
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
    world.execute("SET rewriter.verify = certificate")
    cursor = world.execute(query)
    world.execute("SET rewriter.verify = off")
    assert cursor.stats is not None
    assert cursor.stats.verification is not None
    assert cursor.stats.verification.findings == ()


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
        "SELECT bitmap_count(bitmap_or_agg(ids) OVER w) FROM v WINDOW w AS (PARTITION BY bucket)",
        f"SELECT v.bucket, {BITMAPS} FROM v JOIN (SELECT 1L AS bucket) x ON x.bucket = v.bucket GROUP BY v.bucket",
        f"SELECT {BITMAPS} FROM v WHERE bucket = -1",
        f"SELECT {BITMAPS} FROM v WHERE bucket IN (1)",
        f"SELECT {BITMAPS} FROM v WHERE bucket <=> CAST(1 AS BIGINT)",
        "SELECT bitmap_count(bitmap_or_agg(ids) FILTER (WHERE bucket = 1)) FROM v",
        "WITH w(b, i) AS (SELECT bucket, bitmap_or_agg(ids) FROM v GROUP BY bucket, page) "
        "SELECT b, bitmap_count(bitmap_or_agg(i)) FROM w GROUP BY b",
        "SELECT b, bitmap_count(bitmap_or_agg(i)) FROM "
        "(SELECT bucket AS b, page, bitmap_or_agg(ids) AS i FROM v GROUP BY bucket, page) GROUP BY b",
        "SELECT SUM(bitmap_count(i)) FROM (SELECT bucket, bitmap_and_agg(i) AS i FROM "
        "(SELECT bucket, page, bitmap_or_agg(ids) AS i FROM v GROUP BY bucket, page) GROUP BY bucket)",
        "SELECT bitmap_count(bitmap_or_agg(b)) FROM (SELECT bitmap_construct_agg(n) AS b FROM h), (SELECT SUM(n) "
        "FROM v)",
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
        "SELECT bitmap_count(bitmap_or_agg(ids) OVER w) FROM v WINDOW w AS (PARTITION BY page), "
        "x AS (PARTITION BY bucket)",
        "SELECT p, bitmap_count(bitmap_or_agg(i)) FROM (SELECT page AS p, bucket AS b, ids AS i FROM v) GROUP BY p",
        f"SELECT x.bucket, {BITMAPS} FROM v JOIN (SELECT 1L AS bucket) x ON true GROUP BY x.bucket",
        "SELECT bitmap_count(bitmap_and_agg(ids)) FROM v",
        "SELECT bitmap_count(bitmap_or_agg(u)) FROM (SELECT bucket, bitmap_or_agg(ids) AS u FROM v GROUP BY bucket)",
        "SELECT page, bitmap_count(bitmap_or_agg(i)) FROM "
        "(SELECT bucket, page, bitmap_or_agg(ids) AS i FROM v GROUP BY bucket, page) GROUP BY page",
        "SELECT bitmap_count(bitmap_and_agg(ids)) FROM (SELECT ids FROM v LIMIT 100)",
        "SELECT bitmap_count(bitmap_or_agg(ids)) FROM (SELECT DISTINCT bucket, ids FROM v)",
        "SELECT bitmap_count(bitmap_or_agg(ids)) FROM (SELECT ids FROM v UNION ALL SELECT ids FROM v)",
        "SELECT bitmap_count(bitmap_or_agg(i)) FROM (SELECT first(ids) AS i FROM v GROUP BY bucket)",
        "WITH w AS (SELECT bucket AS b, bitmap_or_agg(ids) AS i FROM v GROUP BY bucket), z AS (SELECT i AS j FROM w) "
        "SELECT bitmap_count(bitmap_or_agg(j)) FROM z",
        "SELECT bitmap_count(bitmap_or_agg(i)) FROM (SELECT page AS bucket, bitmap_or_agg(ids) AS i FROM v "
        "GROUP BY page, v.bucket) GROUP BY bucket",
        "SELECT page, bitmap_count(bitmap_or_agg(i)) FROM by_bucket GROUP BY page",
        "SELECT k, bitmap_count(bitmap_or_agg(x)) FROM (SELECT a.bucket AS k, b.ids AS x FROM v a JOIN v b "
        "ON a.page = b.page) GROUP BY k",
        "WITH w(b, i) AS (SELECT bucket, bitmap_or_agg(ids) FROM v GROUP BY bucket) "
        "SELECT bitmap_count(bitmap_or_agg(i)) FROM w",
        "SELECT bitmap_count(bitmap_or_agg(i)) FROM (SELECT bucket, bitmap_or_agg(ids) FROM v GROUP BY 1) AS x(b, i)",
        "SELECT bitmap_count(bitmap_or_agg(`bitmap_or_agg(ids)`)) FROM "
        "(SELECT bucket, bitmap_or_agg(ids) FROM v GROUP BY bucket)",
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
        "EVERY(paid) AS all_paid, BIT_AND(bits) AS common, BIT_OR(bits)) ROLLUPS (MONTHLY (page))"
    )
    query = (
        "SELECT page, some({}) AS a, every({}) AS e, bit_and({}) AS b, bit_or(bits) AS c FROM {} GROUP BY 1 ORDER BY 1"
    )
    expected = connection.execute(query.format("paid", "paid", "bits", "events")).fetchall()
    assert connection.execute(query.format("any_paid", "all_paid", "common", "e")).fetchall() == expected


def test_a_narrower_column_keeps_the_type_of_the_cube(connection: Connection) -> None:
    connection.execute("ALTER CUBE v ALTER COLUMN flags TYPE BIGINT")
    described = connection.execute(f"SELECT bit_or(flags) AS x, bit_and(mask) AS y FROM v WHERE {JANUARY}").description
    assert [column[1] for column in described] == ["bigint", "bigint"]


STOCKS = """CREATE CUBE s (shop STRING, product STRING, reason STRING, counted TIMESTAMP MEASURE MAX,
  stock INT MEASURE LAST BY counted PER (shop, product), opened TIMESTAMP MEASURE MIN,
  opening INT MEASURE FIRST BY opened PER (shop, product), t TIMESTAMP TIME);
CREATE TABLE h (shop STRING, product STRING, reason STRING, counted TIMESTAMP, stock INT, opened TIMESTAMP, opening INT)
  PARTITIONED BY (dt STRING);
CREATE FACT f OF CUBE s STORED IN (TABLE h PERIOD HOURLY PARTITIONED BY t AS (dt))
  ROLLUPS (DAILY, MONTHLY (shop, product), MONTHLY (shop));
CREATE TABLE events AS SELECT concat('s', id % 3) AS shop, concat('p', id % 4) AS product,
  concat('r', id % 2) AS reason, timestamp_seconds(1704067200 + id * 1337) AS at,
  CASE WHEN id % 17 = 0 THEN NULL ELSE CAST(id * 7919 % 1000 AS INT) END AS v FROM range(1900);
INSERT INTO h MARK COMPLETE FROM '2024-01-01' TO '2024-02-01'
  SELECT shop, product, reason, MAX(at), max_by(v, at), MIN(at), min_by(v, at), date_format(at, 'yyyy-MM-dd-HH')
  FROM events GROUP BY shop, product, reason, date_format(at, 'yyyy-MM-dd-HH');
REFRESH FACT f"""
LAST, FIRST = "max_by(stock, counted)", "min_by(opening, opened)"


def stocked(path: Path) -> Connection:
    connection = rewriter.connect(path, engine="duckdb")
    for statement in STOCKS.split(";"):
        connection.execute(statement)
    return connection


@pytest.fixture(scope="module")
def stocks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    """A warehouse that tests do not change."""
    with stocked(tmp_path_factory.mktemp("stocks") / "w") as shared:
        yield shared


@pytest.mark.parametrize(
    "range_",
    [
        ("2024-01-01", "2024-02-01"), ("2024-01-03 05:00", "2024-01-20 07:00"), ("2024-01-05", "2024-01-06"),
        ("2024-01-05 03:00", "2024-01-05 09:00"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("keys", ["shop, product", "shop, product, reason"])
def test_the_newest_value_of_a_series(stocks: Connection, range_: tuple[str, str], keys: str) -> None:
    query = "SELECT {0}, {1} AS l, {2} AS f FROM {3} WHERE {4} >= '{5}' AND {4} < '{6}' GROUP BY {0} ORDER BY {0}"
    over_cube = query.format(keys, LAST, FIRST, "s", "t", *range_)
    over_events = query.format(keys, "max_by(v, at)", "min_by(v, at)", "events", "at", *range_)
    assert stocks.execute(over_cube).fetchall() == stocks.execute(over_events).fetchall()
    assert tables(stocks, over_cube) != ["h"] or range_[1] == "2024-01-05 09:00"


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT product, {LAST} FROM s WHERE {JANUARY} AND shop = 's1' GROUP BY product",
        f"SELECT SUM(v) FROM (SELECT {LAST} AS v FROM s WHERE {JANUARY} GROUP BY shop, product)",
        f"SELECT to_date(t), shop, product, {FIRST} FROM s WHERE {JANUARY} GROUP BY 1, 2, 3",
        "SELECT a, b, max_by(v, c) FROM (SELECT shop AS a, product AS b, stock AS v, counted AS c FROM s "
        f"WHERE {JANUARY}) GROUP BY a, b",
        f"SELECT shop, product, reason, {LAST} FROM s WHERE {JANUARY} GROUP BY shop, product, ROLLUP (reason)",
        f"SELECT shop, product, SUM({LAST}) OVER (PARTITION BY shop) FROM s WHERE {JANUARY} GROUP BY shop, product",
        "SELECT shop, SUM(stock) FROM (SELECT shop, product, max_by(stock, counted) AS stock FROM s "
        f"WHERE {JANUARY} GROUP BY shop, product) GROUP BY shop",
    ],
)
def test_groups_of_one_series(stocks: Connection, query: str) -> None:
    assert stocks.execute(query).fetchall()
    assert "h" not in tables(stocks, query)


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT {LAST} FROM s",
        f"SELECT shop, {LAST} FROM s GROUP BY shop",
        f"SELECT product, {FIRST} FROM s GROUP BY product",
        f"SELECT shop, product, {LAST} FROM s GROUP BY ROLLUP (shop, product)",
        f"SELECT shop, product, {LAST} FROM s GROUP BY shop, product WITH CUBE",
        f"SELECT product, {LAST} FROM s WHERE shop IN ('s1', 's2') GROUP BY product",
        "SELECT a, max_by(v, c) FROM (SELECT shop AS a, stock AS v, counted AS c FROM s) GROUP BY a",
        "SELECT SUM(stock) FROM s",
        "SELECT shop, product, SUM(stock) FROM s GROUP BY shop, product",
        "SELECT shop, product, SUM(CASE WHEN reason = 'r1' THEN opening ELSE 0 END) FROM s GROUP BY shop, product",
        "SELECT try_sum(stock) FROM s",
        f"SELECT product, {LAST} FROM s WHERE shop = 1 GROUP BY product",
        "SELECT SUM(stock) FROM (SELECT DISTINCT stock, counted FROM s)",
        "SELECT SUM(x) FROM (SELECT stock AS x FROM s UNION ALL SELECT 0)",
        "WITH w AS (SELECT stock FROM s LIMIT 100) SELECT SUM(stock) FROM w",
        "SELECT max_by(stock, counted) FROM (SELECT DISTINCT stock, counted FROM s)",
        "SELECT a, max_by(v, c) FROM (SELECT shop AS a, stock AS v, counted AS c FROM s ORDER BY 1 LIMIT 9) GROUP BY a",
        "SELECT k, p, max_by(x, y) FROM (SELECT a.shop AS k, a.product AS p, b.stock AS x, b.counted AS y FROM s a "
        "JOIN s b ON a.reason = b.reason) GROUP BY k, p",
    ],
)
def test_several_series_are_not_united(stocks: Connection, query: str) -> None:
    assert condition(stocks, query) == "UNITED_SERIES"


@pytest.mark.parametrize(
    "call",
    ["max_by(stock, opened)", "min_by(stock, counted)", "max_by(opening, counted)", "max_by(shop, counted)",
     "max(stock)"],
)  # fmt: skip
def test_any_other_choice_reads_the_base(stocks: Connection, call: str) -> None:
    query = f"SELECT shop, product, {call} AS x FROM s WHERE {JANUARY} GROUP BY shop, product ORDER BY shop, product"
    assert tables(stocks, query) == ["h"]
    of_base = query.replace(" FROM s", " FROM h").replace(JANUARY, "true")
    assert stocks.execute(query).fetchall() == stocks.execute(of_base).fetchall()


def test_a_series_keeps_its_columns(tmp_path: Path) -> None:
    with stocked(tmp_path / "w") as connection:
        columns = [row[0] for row in connection.execute("SHOW COLUMNS IN f_monthly_shop").fetchall()]
        assert columns == ["shop", "counted", "opened", "dt"]
        assert {row[8] for row in connection.execute("CHECK FACT f").fetchall()} == {"agrees"}
        for column in ("product", "counted", "opened"):
            assert condition(connection, f"ALTER CUBE s DROP ({column})") == "INVALID_CUBE"
        connection.execute("ALTER CUBE s RENAME COLUMN counted TO seen")
        connection.execute("ALTER CUBE s RENAME COLUMN product TO item")
        shown = connection.execute("SHOW CREATE CUBE s").fetchall()[0][0]
        assert "stock int MEASURE LAST BY seen PER (shop, item)" in shown
        connection.execute(shown.replace("default.s", "again"))
        connection.execute("ALTER CUBE s ALTER COLUMN stock TYPE BIGINT")
        connection.execute("SET rewriter.verify = certificate")
        cursor = connection.execute(f"SELECT shop, item, max_by(stock, seen) AS x FROM s WHERE {JANUARY} GROUP BY 1, 2")
        assert len(cursor.fetchall()) == 12
        assert cursor.description[2][1] == "bigint"


@pytest.mark.parametrize(
    ("choice", "is_proven"), [(LAST, True), ("max_by(stock, opened)", False), ("max(stock)", False)]
)
def test_an_insert_of_last_values_is_proven(tmp_path: Path, choice: str, is_proven: bool) -> None:
    with stocked(tmp_path / "w") as connection:
        cursor = connection.execute(
            f"INSERT OVERWRITE f_monthly_shop_product SELECT shop, product, MAX(counted), {choice}, MIN(opened), "
            f"{FIRST}, '2024-01' FROM h WHERE dt >= '2024-01-01-00' AND dt < '2024-02-01-00' GROUP BY shop, product"
        )
        assert any("unproven" in warning for warning in cursor.warnings) is not is_proven


@pytest.mark.parametrize(
    "measure",
    [
        "x INT MEASURE LAST BY earliest PER (d)",
        "x INT MEASURE FIRST BY latest PER (d)",
        "x INT MEASURE LAST BY d PER (d)",
        "x INT MEASURE LAST BY latest PER (z)",
        "x INT MEASURE LAST BY latest PER (latest)",
        "x INT MEASURE LAST BY t PER (d)",
        "x INT MEASURE LAST BY latest PER (d) NOT NULL",
        "x MAP<STRING, INT> MEASURE LAST BY latest PER (d)",
        "x STRUCT<a: INT> MEASURE FIRST BY earliest PER (d)",
    ],
)
def test_series_that_do_not_fit(stocks: Connection, measure: str) -> None:
    columns = "d STRING, latest TIMESTAMP MEASURE MAX, earliest TIMESTAMP MEASURE MIN, t TIMESTAMP TIME"
    assert condition(stocks, f"CREATE CUBE w ({columns}, {measure})") == "INVALID_CUBE"


def test_a_series_has_a_time_and_dimensions(stocks: Connection) -> None:
    for measure in (
        "x INT MEASURE LAST", "x INT MEASURE MAX BY y PER (d)", "x INT MEASURE LAST BY y",
    ):  # fmt: skip
        assert condition(stocks, f"CREATE CUBE w (d STRING, {measure}, t TIMESTAMP TIME)") == "PARSE_SYNTAX_ERROR"


def test_a_table_of_last_values_has_their_series(tmp_path: Path) -> None:
    with stocked(tmp_path / "w") as connection:
        connection.execute("CREATE TABLE days (shop STRING, stock INT, counted TIMESTAMP) PARTITIONED BY (dt STRING)")
        added = "ALTER FACT f ADD STORAGE (TABLE days PERIOD DAILY PARTITIONED BY t AS (dt))"
        assert condition(connection, added) == "INVALID_FACT"


def test_statistics_of_bitmaps(connection: Connection) -> None:
    connection.execute("ANALYZE TABLE h COMPUTE STATISTICS FOR COLUMNS ids, paid")
    described = dict(connection.execute("DESCRIBE EXTENDED h ids").fetchall())
    assert described["max_col_len"] == "4096"


def test_a_differing_bitmap_is_shown_by_its_bits(connection: Connection) -> None:
    connection.execute(
        "INSERT OVERWRITE f_daily SELECT page, bucket, n, paid, good, flags, mask, bitmap_construct_agg(5), dt "
        "FROM f_daily WHERE dt = '2024-01-03' GROUP BY ALL"
    )
    [row] = [row for row in connection.execute("CHECK FACT f").fetchall() if row[8] == "value differs"][:1]
    assert row[5] == "ids"
    assert re.fullmatch("4,096 bytes, [0-9]+ bits set", row[6])
    assert row[7] == "4,096 bytes, 1 bits set"


def test_a_measure_in_a_condition_is_not_added_up(stocks: Connection) -> None:
    query = f"SELECT SUM(CASE WHEN stock > 500 THEN 1 ELSE 0 END) FROM s WHERE {JANUARY}"
    of_base = query.replace(" FROM s", " FROM h").replace(JANUARY, "true")
    assert stocks.execute(query).fetchall() == stocks.execute(of_base).fetchall()


def test_a_column_of_a_table_may_have_the_name_of_a_measure(stocks: Connection) -> None:
    query = (
        f"SELECT x.shop, x.v, y.n FROM (SELECT shop, SUM(v) AS v FROM (SELECT shop, product, {LAST} AS v FROM s "
        f"WHERE {JANUARY} GROUP BY shop, product) GROUP BY shop) x JOIN (SELECT shop, SUM(stock) AS n FROM h GROUP BY "
        "shop) y ON x.shop = y.shop"
    )
    assert len(stocks.execute(query).fetchall()) == 3


@pytest.mark.parametrize("order", [(2, 1, 0), (0, 1, 2), (1, 2, 0)])
def test_of_values_with_one_time_a_rollup_has_the_greatest(tmp_path: Path, order: tuple[int, ...]) -> None:
    """CHECK FACT, and proofs of queries, compute the same one."""
    with rewriter.connect(tmp_path / "w", engine="duckdb") as connection:
        for statement in (
            "CREATE CUBE s (shop STRING, counted TIMESTAMP MEASURE MAX, stock INT MEASURE LAST BY counted PER (shop), "
            "opened TIMESTAMP MEASURE MIN, opening INT MEASURE FIRST BY opened PER (shop), t TIMESTAMP TIME)",
            "CREATE TABLE h (shop STRING, counted TIMESTAMP, stock INT, opened TIMESTAMP, opening INT) "
            "PARTITIONED BY (dt STRING)",
            "CREATE FACT f OF CUBE s STORED IN (TABLE h PERIOD HOURLY PARTITIONED BY t AS (dt)) "
            "ROLLUPS (DAILY, MONTHLY)",
        ):
            connection.execute(statement)
        at = "TIMESTAMP '2024-01-01 00:00:00'"
        for value in order:
            connection.execute(f"INSERT INTO h VALUES ('a', {at}, {value}, {at}, {value}, '2024-01-01-0{value}')")
        connection.execute("ALTER FACT f MARK COMPLETE FROM '2024-01-01' TO '2024-02-01'")
        connection.execute("REFRESH FACT f")
        assert {row[8] for row in connection.execute("CHECK FACT f").fetchall()} == {"agrees"}
        connection.execute("SET rewriter.verify = 100%")
        connection.execute("SET rewriter.verify_when = before")
        cursor = connection.execute(f"SELECT shop, {LAST}, {FIRST} FROM s WHERE {JANUARY} GROUP BY shop")
        assert cursor.fetchall() == [("a", 2, 0)]
        assert not cursor.warnings
        assert connection.execute("SHOW UNPROVEN PARTITIONS OF f").fetchall() == []
