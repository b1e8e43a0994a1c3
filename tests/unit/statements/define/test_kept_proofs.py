"""DROP FACT and an equal CREATE FACT keep all proofs; another declaration, and what was written in between, do not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rewriter.errors import MissingDataError
from rewriter.session import Session

CUBE = "CREATE CUBE v (page STRING, n BIGINT MEASURE COUNT, ms BIGINT MEASURE SUM, t TIMESTAMP TIME)"
TABLES = [
    f"CREATE TABLE {name} (page STRING, n BIGINT, ms BIGINT) PARTITIONED BY (dt STRING)"
    for name in ("hours", "days", "months")
]
FACT = """CREATE FACT f OF CUBE v STORED IN (
  TABLE hours PERIOD HOURLY PARTITIONED BY t AS (dt), TABLE days PERIOD DAILY PARTITIONED BY t AS (dt),
  TABLE months PERIOD MONTHLY PARTITIONED BY t AS (dt))"""
PERIODS = (("days", "DAILY"), ("months", "MONTHLY"))
JANUARY = "FROM v WHERE t >= '2024-01-01' AND t < '2024-02-01'"


@pytest.fixture
def session(tmp_path: Path, catalog_url: str | None) -> Iterator[Session]:
    with Session(tmp_path / "w", "duckdb", catalog=catalog_url) as opened:
        for statement in (CUBE, *TABLES, FACT):
            opened.execute(statement)
        opened.execute(
            "INSERT INTO hours MARK COMPLETE FROM '2024-01-01' TO '2024-02-01' "
            "VALUES ('a', 1, 10, '2024-01-05-03'), ('b', 2, 30, '2024-01-09-04')"
        )
        opened.execute("REFRESH FACT f")
        yield opened


def rows(session: Session, statement: str) -> list[tuple[object, ...]]:
    return list(session.execute(statement).rows())


def states(session: Session) -> dict[str, tuple[int, int, int]]:
    """Returns the numbers of fresh, outdated and unproven periods of each rollup."""
    found: dict[str, tuple[int, int, int]] = {}
    snapshot = session.catalog.snapshot()
    for stored in snapshot.fact("f").tables[1:]:
        for period in stored.layouts:
            lines = (snapshot.timeline, snapshot.outdated, snapshot.unproven)
            counts = [sum(map(len, line(stored.table, period, stored.time).ranges())) for line in lines]
            found[stored.table] = (counts[0], counts[1], counts[2])
    return found


def test_an_equal_declaration_keeps_all_proofs_after_retention(session: Session) -> None:
    session.execute("INSERT INTO hours VALUES ('c', 4, 5, '2024-01-20-07')")
    before = states(session)
    assert before == {"days": (30, 1, 0), "months": (0, 1, 0)}
    session.execute("REFRESH FACT f")
    session.execute("ALTER TABLE hours DROP PARTITION (dt < '2024-01-30')")
    numbers = rows(session, f"SELECT page, SUM(n), SUM(ms) {JANUARY} GROUP BY page ORDER BY page")
    for _ in range(2):
        (warning,) = session.execute("DROP FACT f").warnings
        assert warning.startswith("32 rollup partitions are proven: a CREATE FACT that means the same as f keeps")
        session.execute("DROP CUBE v")
        session.execute(CUBE)
        (warning,) = session.execute(FACT).warnings
        assert warning.endswith("keeps its proofs: 32 rollup partitions are proven")
        assert states(session) == {"days": (31, 0, 0), "months": (1, 0, 0)}
        assert rows(session, f"SELECT page, SUM(n), SUM(ms) {JANUARY} GROUP BY page ORDER BY page") == numbers
    session.execute("SET rewriter.verify = certificate")
    assert rows(session, f"SELECT SUM(n) {JANUARY}") == [(7,)]
    assert rows(session, "REFRESH FACT f DRY RUN") == []
    session.execute("INSERT INTO hours VALUES ('d', 1, 1, '2024-01-31-07')")
    assert states(session) == {"days": (30, 1, 0), "months": (0, 1, 0)}


def test_words_and_names_are_no_part_of_the_meaning(session: Session) -> None:
    session.execute("DROP FACT f")
    text = FACT.replace("FACT f", "FACT F").replace(" OF CUBE v", " OF CUBE v WEIGHT 7 LATENESS '2 hours'")
    days, months = (f"TABLE {name} PERIOD {period} PARTITIONED BY t AS (dt)" for name, period in PERIODS)
    text = text.replace(days, "…").replace(months, days).replace("…", f"{months} RETAIN 9 YEARS")
    assert session.execute(text).warnings
    assert states(session) == {"days": (31, 0, 0), "months": (1, 0, 0)}


def test_the_shown_declaration_after_alter_cube_keeps_them(session: Session) -> None:
    """ALTER CUBE lists the columns of old rollups with the dimensions first, SHOW CREATE in the cube's order."""
    for statement in ("DROP FACT f", "DROP CUBE v", CUBE.replace("t TIMESTAMP", "city STRING, t TIMESTAMP")):
        session.execute(statement)
    for table in ("hours", "days", "months"):
        session.execute(f"ALTER TABLE {table} ADD COLUMNS (city STRING)")
    session.execute(FACT)
    session.execute("REFRESH FACT f")
    session.execute("ALTER TABLE hours ADD COLUMNS (x INT)")
    session.execute("ALTER CUBE v ADD (x INT)")
    ((shown,),) = rows(session, "SHOW CREATE FACT f")
    session.execute("DROP FACT f")
    (warning,) = session.execute(str(shown)).warnings
    assert warning.endswith("keeps its proofs: 32 rollup partitions are proven")


ALTERED = """
CREATE CUBE w (page STRING, city STRING, n BIGINT MEASURE COUNT, ms BIGINT MEASURE SUM, t TIMESTAMP TIME);
CREATE TABLE base (page STRING, city STRING, n BIGINT, ms BIGINT) PARTITIONED BY (day DATE);
CREATE FACT g OF CUBE w STORED IN (TABLE base PERIOD DAILY PARTITIONED BY t AS (day))
  ROLLUPS (WEEKLY, MONTHLY (page), MONTHLY (city), MONTHLY ());
INSERT INTO base SELECT concat('p', CAST(id % 3 AS STRING)), concat('c', CAST(id % 2 AS STRING)), 1L, id,
  date_add(DATE'2024-01-01', CAST(id DIV 5 AS INT)) FROM range(455);
REFRESH FACT g
"""
BY_PAGE, BY_CITY, SUMS = (
    "SELECT page, SUM(n) FROM w GROUP BY page ORDER BY page",
    "SELECT city, COUNT(*) FROM w GROUP BY city ORDER BY city",
    "SELECT page, SUM(ms) FROM w GROUP BY page ORDER BY page",
)


@pytest.mark.share(2)
@pytest.mark.parametrize(
    ("statements", "queries"),
    [
        (["ALTER CUBE w DROP (ms)", "ALTER CUBE w ADD (ms BIGINT)"], [BY_PAGE, BY_CITY]),
        (["ALTER CUBE w DROP (ms)", "ALTER CUBE w ADD (ms BIGINT MEASURE MAX)"], [BY_PAGE]),
        (["ALTER CUBE w DROP (ms)", "ALTER CUBE w ADD (ms BIGINT MEASURE SUM)"], [BY_PAGE, SUMS]),
        (["ALTER CUBE w DROP (ms)", "ALTER TABLE base ADD COLUMNS (m2 DOUBLE)", "ALTER CUBE w ADD (m2 DOUBLE)"], []),
        (
            ["ALTER FACT g DROP STORAGE g_monthly_city", "ALTER CUBE w DROP (city)", "ALTER CUBE w ADD (city STRING)"],
            [],
        ),
        (
            [
                "ALTER FACT g DROP STORAGE g_monthly_city",
                "ALTER CUBE w DROP (city)",
                "ALTER CUBE w ADD (city STRING MEASURE MAX)",
            ],
            [BY_PAGE, SUMS],
        ),
        (["ALTER TABLE base ADD COLUMNS (dt STRING)", "ALTER CUBE w ADD (dt STRING)"], [BY_PAGE, BY_CITY, SUMS]),
        (
            ["ALTER CUBE w RENAME COLUMN ms TO x", "ALTER CUBE w DROP (x)", "ALTER CUBE w ADD (x BIGINT)"],
            [BY_PAGE, BY_CITY],
        ),
        (["ALTER CUBE w RENAME COLUMN page TO x", "ALTER CUBE w RENAME COLUMN city TO page"], [BY_PAGE]),
        (["ALTER CUBE w DROP (ms)", "ALTER CUBE w ADD (ms BIGINT)", "ALTER FACT g ADD ROLLUP WEEKLY (ms)"], [BY_PAGE]),
    ],
)
def test_the_shown_declarations_run_again(
    session: Session, tmp_path: Path, statements: list[str], queries: list[str]
) -> None:
    """After each change: in the same catalog, where REFRESH goes on, and in an empty one."""
    list(session.script(ALTERED))
    for statement in statements:
        session.execute(statement)
    session.execute("REFRESH FACT g")
    expected = [rows(session, query) for query in queries]
    tables = [stored.table for stored in session.snapshot().fact("g").tables]
    shown = {
        name: str(rows(session, f"SHOW CREATE {name}")[0][0])
        for name in [*(f"TABLE {table}" for table in tables), "CUBE w", "FACT g"]
    }
    session.execute("DROP FACT g")
    session.execute("DROP CUBE w")
    session.execute(shown["CUBE w"])
    (warning,) = session.execute(shown["FACT g"]).warnings
    assert "means the same as a fact that was dropped" in warning
    assert str(rows(session, "SHOW CREATE FACT g")[0][0]) == shown["FACT g"]
    assert [rows(session, query) for query in queries] == expected
    # What was skipped is refreshed after the base has changed.
    session.execute("INSERT OVERWRITE base (n, day) VALUES (1, DATE'2024-03-05')")
    states = {row[5] for row in rows(session, "REFRESH FACT g")}
    assert states == {"refreshed"}
    fewer = [rows(session, query) for query in queries]
    for query, was, found in zip(queries, expected, fewer, strict=True):
        assert was != found == rows(session, query.replace("FROM w", "FROM base"))
    with Session(tmp_path / "other", "duckdb") as other:
        for statement in shown.values():
            other.execute(statement)
        assert str(rows(other, "SHOW CREATE FACT g")[0][0]) == shown["FACT g"]


def test_a_fact_with_another_meaning_says_what_refresh_skips(session: Session) -> None:
    list(session.script(ALTERED))
    session.execute("ALTER CUBE w DROP (ms)")
    session.execute("ALTER CUBE w ADD (ms BIGINT)")
    shown = str(rows(session, "SHOW CREATE FACT g")[0][0])
    session.execute("DROP FACT g")
    warnings = session.execute(shown.replace("(page, n)", "(n)")).warnings
    skips = [text for text in warnings if text.startswith("REFRESH FACT skips")]
    assert any("skips g_monthly_page, which has page, ms: ALTER FACT … ADD ROLLUP makes" in text for text in skips)
    skipped = {str(row[0]) for row in rows(session, "REFRESH FACT g") if str(row[5]).startswith("skipped")}
    assert skipped == {text.split()[3].rstrip(",") for text in skips}


@pytest.mark.parametrize(
    ("statements", "cube", "fact"),
    [
        ([], CUBE.replace("ms BIGINT MEASURE SUM", "ms BIGINT MEASURE MAX"), FACT),
        ([], CUBE, FACT.replace("TABLE days PERIOD DAILY", "TABLE days (page, n) PERIOD DAILY")),
        ([], CUBE.replace("TIME)", "TIME) TIME ZONE 'Asia/Tokyo'"), FACT),
        ([], CUBE, FACT.replace("AS (dt), TABLE days", "AS (dt) START '2024-01-02', TABLE days")),
        (["DROP TABLE hours", TABLES[0]], CUBE, FACT),
        (["ALTER TABLE hours ADD COLUMNS (x INT)"], CUBE, FACT),
        (
            [
                "ALTER TABLE days RENAME TO was_days",
                "CREATE TABLE days (page STRING, n BIGINT, ms BIGINT) PARTITIONED BY (dt STRING)",
                "INSERT INTO days SELECT page, 9, 9, dt FROM was_days",
            ],
            CUBE,
            FACT,
        ),
    ],
)
def test_another_declaration_keeps_none(session: Session, statements: list[str], cube: str, fact: str) -> None:
    for statement in ("DROP FACT f", "DROP CUBE v", *statements, cube):
        session.execute(statement)
    warnings = session.execute(fact).warnings
    assert all("keeps its proofs" not in warning for warning in warnings)
    assert [counts[0] for counts in states(session).values()] == [0, 0]


def test_files_of_an_external_base_may_have_changed(session: Session, tmp_path: Path) -> None:
    columns = "(page STRING, n BIGINT, ms BIGINT) PARTITIONED BY (dt STRING)"
    session.execute(f"CREATE EXTERNAL TABLE theirs {columns} LOCATION '{tmp_path / 'theirs'}'")
    session.execute("CREATE TABLE sums (page STRING, n BIGINT, ms BIGINT) PARTITIONED BY (dt STRING)")
    fact = (
        "CREATE FACT e OF CUBE v STORED IN (TABLE theirs PERIOD DAILY PARTITIONED BY t AS (dt), "
        "TABLE sums PERIOD MONTHLY PARTITIONED BY t AS (dt)) START '2025-01-01'"
    )
    session.execute(fact)
    load = "INSERT INTO theirs VALUES ('a', 1, 1, '2025-01-05')"
    session.execute(load)
    session.execute("ALTER FACT e MARK COMPLETE FROM '2025-01-01' TO '2025-02-01'")
    session.execute("REFRESH FACT e")
    query = "SELECT SUM(n) FROM v WHERE t >= '2025-01-01' AND t < '2025-02-01'"
    assert "FROM sums" in session.plan(query).sql
    session.execute("DROP FACT e")
    session.execute(load)
    assert any("its rollups are unproven" in w or "external" in w for w in session.execute(fact).warnings)
    assert rows(session, query) == [(2,)]


def test_another_session_sees_them(session: Session, tmp_path: Path, catalog_url: str | None) -> None:
    session.execute("DROP FACT f")
    with Session(tmp_path / "w", "duckdb", catalog=catalog_url) as other:
        other.execute(FACT)
    assert states(session) == {"days": (31, 0, 0), "months": (1, 0, 0)}


def test_what_was_written_in_between_is_unproven(session: Session) -> None:
    session.execute("DROP FACT f")
    session.execute("INSERT OVERWRITE days SELECT page, n * 7, ms, dt FROM days WHERE dt = '2024-01-05'")
    session.execute("ALTER TABLE days PARTITION (dt = '2024-01-09') RENAME TO PARTITION (dt = '2024-02-09')")
    session.execute("ALTER TABLE days ADD PARTITION (dt = '2024-02-10')")
    session.execute("INSERT INTO hours VALUES ('c', 4, 5, '2024-01-20-07')")
    session.execute("ALTER TABLE months COMPACT")
    (warning,) = session.execute(FACT).warnings
    assert "keeps its proofs: 28 rollup partitions are proven; 3 are not: SHOW UNPROVEN PARTITIONS OF f" in warning
    # 20 January and the month lack the late event.
    assert states(session) == {"days": (28, 1, 3), "months": (0, 1, 0)}
    assert rows(session, f"SELECT SUM(n) {JANUARY}") == [(7,)]


def test_what_was_dropped_is_not_empty_for_another_fact(session: Session) -> None:
    """MARK COMPLETE of another fact would make the dropped days empty, and REFRESH FACT the months, the only copy."""
    session.execute("ALTER TABLE hours DROP PARTITION (dt < '2024-01-10')")
    session.execute("DROP FACT f")
    session.execute(FACT.replace("TABLE days", "TABLE days (page, n)"))
    marked = rows(session, "ALTER FACT f MARK COMPLETE FROM '2024-01-01' TO '2024-02-01'")
    assert [row[2:6] for row in marked] == [("2024-01-01", "2024-01-10", "dropped", 216)]
    session.execute("REFRESH FACT f")
    with pytest.raises(MissingDataError):
        session.execute(f"SELECT SUM(n) {JANUARY}")
    assert rows(session, "SELECT SUM(n) FROM months") == [(3,)]


def test_another_fact_in_between_proves_nothing(session: Session) -> None:
    """Rollups that were computed for another meaning, by REFRESH FACT, are no rollups of this one."""
    session.execute("DROP FACT f")
    session.execute("CREATE CUBE w (page STRING, n BIGINT MEASURE MAX, ms BIGINT MEASURE MIN, t TIMESTAMP TIME)")
    session.execute(FACT.replace("FACT f OF CUBE v", "FACT g OF CUBE w"))
    session.execute("INSERT INTO hours VALUES ('a', 3, 4, '2024-01-05-03')")
    session.execute("REFRESH FACT g FORCE FROM '2024-01-05' TO '2024-01-06'")
    session.execute("DROP FACT g")
    session.execute(FACT)
    assert states(session)["days"] == (30, 0, 1)
    assert rows(session, f"SELECT SUM(n) {JANUARY}") == [(6,)]


def test_tables_that_joined_later_keep_their_proofs(session: Session) -> None:
    session.execute("ALTER FACT f ADD ROLLUP DAILY (), MONTHLY ()")
    session.execute("REFRESH FACT f")
    ((shown,),) = rows(session, "SHOW CREATE FACT f")
    before = states(session)
    session.execute("DROP FACT f")
    session.execute(str(shown))
    assert states(session) == before
    assert before["f_monthly_total"] == (1, 0, 0)
    session.execute("DROP FACT f CASCADE")
    assert [row[0] for row in rows(session, "SHOW TABLES")] == ["days", "hours", "months"]
