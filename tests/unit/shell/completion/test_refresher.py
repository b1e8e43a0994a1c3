"""Names and partition values out of a real catalog."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rewriter.catalog import Catalog
from rewriter.catalog.model.changes import SetCatalogProperty
from rewriter.errors import OperationalError
from rewriter.session import Session
from rewriter.shell.completion import partition_values
from rewriter.shell.completion.candidates import complete
from rewriter.shell.completion.names import Names
from rewriter.shell.completion.partition_values import PartitionValuesReader
from rewriter.shell.completion.refresher import Refresher, SessionNames, function_names


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path, engine="duckdb") as opened:
        yield opened


def run(session: Session, *statements: str) -> None:
    for statement in statements:
        session.execute(statement)


def texts(session: Session, refresher: Refresher, marked: str) -> list[str]:
    refresher.note(SessionNames.of(session))
    assert refresher.step()
    cursor = marked.rindex("|")
    text = marked[:cursor] + marked[cursor + 1 :]
    found = complete(text, cursor, refresher.names, PartitionValuesReader(session.catalog))
    return [candidate.text for candidate in found]


def test_changes_of_names(session: Session) -> None:
    refresher = Refresher(session.catalog)
    assert texts(session, refresher, "SELECT * FROM v|") == ["values"]  # There is no warehouse.
    run(session, "CREATE TABLE visits (page STRING)", "CREATE DATABASE sales", "CREATE TABLE sales.items (x INT)")
    assert texts(session, refresher, "SELECT * FROM v|") == ["visits", "values"]
    assert texts(session, refresher, "SELECT v.| FROM visits v") == ["page"]
    assert texts(session, refresher, "SELECT * FROM sales.|") == ["items"]
    run(session, "ALTER TABLE visits RENAME TO views_of_pages", "ALTER TABLE views_of_pages ADD COLUMNS (n INT)")
    assert texts(session, refresher, "SELECT * FROM v|") == ["views_of_pages", "values"]
    assert texts(session, refresher, "SELECT v.| FROM views_of_pages v") == ["page", "n"]
    run(session, "CREATE VIEW w AS SELECT page AS p FROM views_of_pages", "DROP TABLE sales.items")
    assert texts(session, refresher, "SELECT w.| FROM w") == ["p"]
    assert texts(session, refresher, "SELECT * FROM sales.|") == []
    run(session, "DROP VIEW w", "DROP DATABASE sales", "CREATE TABLE w (q INT)")
    assert texts(session, refresher, "SELECT w.| FROM w") == ["q"]
    assert texts(session, refresher, "USE s|") == ["system", "schema"]
    assert texts(session, refresher, "SELECT * FROM system.part|") == ["partitions"]


def test_names_after_each_change_are_those_of_a_new_reader(session: Session) -> None:
    refresher = Refresher(session.catalog)
    for statement in (
        "CREATE TABLE a (x INT)",
        "CREATE TABLE B (x INT)",
        "DROP TABLE a",
        "CREATE VIEW a AS SELECT 1 AS one",
        "CREATE DATABASE d",
        "CREATE TABLE d.a (x INT)",
        "ALTER TABLE d.a RENAME TO d.c",
        "CREATE OR REPLACE VIEW a AS SELECT 2 AS two",
        "INSERT INTO B VALUES (1)",
        "DROP TABLE d.c",
        "DROP DATABASE d",
        "CREATE CUBE k (at TIMESTAMP TIME, n INT MEASURE SUM)",
        "DROP CUBE k",
    ):
        session.execute(statement)
        refresher.note(SessionNames.of(session))
        assert refresher.step()
        new = Refresher(session.catalog)
        new.note(SessionNames.of(session))
        assert new.step()
        assert _shown(refresher.names) == _shown(new.names), statement


def _shown(names: Names) -> object:
    objects = names.objects
    places = {place: list(group) for place, group in objects.by_place.items() if len(group)}
    return dict(objects.by_name), places, list(objects.databases), names.temporary.by_name


def test_objects_of_the_session(session: Session) -> None:
    refresher = Refresher(session.catalog)
    run(session, "CREATE TABLE t (x INT)", "CREATE TEMPORARY VIEW tv AS SELECT x AS y FROM t")
    run(session, "CREATE TEMPORARY TABLE tt (z INT)")
    assert texts(session, refresher, "SELECT * FROM t|") == ["tt", "tv"]
    assert texts(session, refresher, "SELECT tv.| FROM tv") == ["y"]
    assert texts(session, refresher, "SELECT tt.| FROM tt") == ["z"]
    with Session(session.catalog.warehouse, engine="duckdb") as other:
        assert texts(other, Refresher(other.catalog), "SELECT * FROM t|") == []
    run(session, "DROP VIEW tv", "DROP TABLE tt")
    assert texts(session, refresher, "SELECT * FROM t|") == []


def test_the_current_database_and_settings(session: Session) -> None:
    refresher = Refresher(session.catalog)
    run(session, "CREATE TABLE t1 (x INT)", "CREATE DATABASE d", "CREATE TABLE d.t2 (x INT)", "USE d")
    assert texts(session, refresher, "SELECT * FROM t|") == ["t2"]
    assert texts(session, refresher, "SELECT * FROM default.t|") == ["t1"]
    run(session, "SET rewriter.sink = sorted")
    texts(session, refresher, "|")
    [setting] = [setting for setting in refresher.names.settings if setting.name == "rewriter.sink"]
    assert (setting.value, setting.choices) == ("sorted", ("auto", "grouped", "ungrouped", "sorted"))


def test_clusters_of_the_catalog_and_the_session(session: Session) -> None:
    refresher = Refresher(session.catalog)
    assert texts(session, refresher, "USE CLUSTER |") == []
    run(session, "CREATE TABLE t (x INT)")
    with session.catalog.begin() as transaction:
        properties = '{"west-1": {"filesystem": "/w"}, "east": {}}'
        transaction.commit([SetCatalogProperty("hive.cluster.properties", properties)])
    assert texts(session, refresher, "USE CLUSTER |") == ["east", "`west-1`"]
    run(session, """SET hive.cluster.properties = '{"own": {}}'""")
    assert texts(session, refresher, "USE CLUSTER |") == ["own"]
    run(session, "RESET")
    assert texts(session, refresher, "USE CLUSTER e|") == ["east"]


def test_nothing_is_read_again_where_nothing_changed(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    run(session, *(f"CREATE TABLE t{number} (x INT)" for number in range(5)))
    refresher = Refresher(session.catalog)
    assert refresher.step()
    read: list[str] = []
    from rewriter.catalog.reading import queries

    original = queries.objects

    def counted(*arguments: object, **options: object) -> object:
        read.append(str(options.get("name") or options.get("kind")))
        return original(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(queries, "objects", counted)
    assert refresher.step()
    assert read == []
    session.execute("CREATE TABLE u (x INT)")
    read.clear()
    assert refresher.step()
    assert "table" not in read
    assert "u" in read
    assert len(read) < 6


def test_a_log_without_the_events(session: Session) -> None:
    refresher = Refresher(session.catalog)
    run(session, "CREATE TABLE t1 (x INT)")
    assert texts(session, refresher, "SELECT * FROM t|") == ["t1"]
    run(session, "CREATE TABLE t2 (x INT)", "DROP TABLE t1")
    session.catalog.purge_events(-1)
    assert texts(session, refresher, "SELECT * FROM t|") == ["t2"]
    run(session, "CREATE TABLE t3 (x INT)")
    assert texts(session, refresher, "SELECT * FROM t|") == ["t2", "t3"]


def test_names_stay_where_the_catalog_cannot_be_read(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    run(session, "CREATE TABLE t1 (x INT) PARTITIONED BY (d STRING)")
    refresher = Refresher(session.catalog)
    reader = PartitionValuesReader(session.catalog)
    assert texts(session, refresher, "SELECT * FROM t|") == ["t1"]

    def fails(*_arguments: object) -> object:
        raise OperationalError("The catalog is away.", condition="CATALOG_UNAVAILABLE")

    monkeypatch.setattr(Catalog, "snapshot", fails)
    assert not refresher.step()
    found = complete("SELECT * FROM t", 15, refresher.names, reader)
    assert [candidate.text for candidate in found] == ["t1"]
    text = "SELECT * FROM t1 WHERE d = '"
    assert complete(text, len(text), refresher.names, reader) == []
    assert SessionNames.of(session).current == "default"


def test_reads_of_a_closed_catalog_give_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Session(tmp_path, engine="duckdb") as closed:
        closed.execute("CREATE TABLE t (x INT) PARTITIONED BY (d STRING)")
        catalog = closed.catalog
        refresher, reader = Refresher(catalog), PartitionValuesReader(catalog)
        assert refresher.step()

    def fails(*_arguments: object) -> object:
        raise ValueError("an error of another package")

    monkeypatch.setattr(Catalog, "snapshot", fails)
    assert not refresher.step()
    text = "SELECT 1 FROM t WHERE d = '"
    assert complete(text, len(text), refresher.names, reader) == []


def test_the_thread(session: Session) -> None:
    run(session, "CREATE TABLE t1 (x INT)")
    refresher = Refresher(session.catalog)
    refresher.start()
    try:
        _wait(lambda: refresher.names.find(["t1"]) is not None)
        run(session, "CREATE TABLE t2 (x INT)")
        refresher.note(SessionNames.of(session))
        _wait(lambda: refresher.names.find(["t2"]) is not None)
    finally:
        refresher.stop()
    assert not any(thread.name == "rewriter-completion" and thread.is_alive() for thread in threading.enumerate())


def _wait(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_functions_of_each_engine() -> None:
    assert {"sum", "date_trunc"} <= set(function_names("spark")) & set(function_names("duckdb"))
    assert "aes_encrypt" in set(function_names("spark")) - set(function_names("duckdb"))
    assert not {"and", "in", "like"} & set(function_names("spark"))


@pytest.fixture
def partitioned(session: Session, monkeypatch: pytest.MonkeyPatch) -> Session:
    monkeypatch.setattr(partition_values, "_LONGEST_READ", 30.0)
    session.execute("CREATE TABLE p (x INT) PARTITIONED BY (d DATE, s STRING, n INT, at TIMESTAMP, k DECIMAL(5,2))")
    return session


def add(session: Session, *rows: str) -> None:
    session.execute(
        "ALTER TABLE p ADD "
        + " ".join("PARTITION (d = '{}', s = '{}', n = {}, at = '{}', k = {})".format(*row.split("|")) for row in rows)
    )


ROWS = (
    "2023-12-31|ch|1|2024-01-01 00:00:00|1.50",
    "2024-01-01|ch|2|2024-01-01 01:00:00|1.50",
    "2024-01-01|de|20|2024-01-01 02:00:00|2.00",
    "2024-01-01|de|-2|2024-10-01 02:00:00|2.50",
    "2024-10-05|Ch|200|2024-01-01 02:00:00|-1.00",
    "2024-10-05|it\\'s|21|2024-01-01 02:00:00|10.00",
)


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        ("d = '|", ["'2023-12-31'", "'2024-01-01'", "'2024-10-05'"]),
        ("d = '2024|", ["'2024-01-01'", "'2024-10-05'"]),
        ("d = '2024-1|", ["'2024-10-05'"]),
        ("d = '2024-0|", ["'2024-01-01'"]),
        ("d = '2024-01-01|", ["'2024-01-01'"]),
        ("d = '2024-02-3|", []),
        ("d = 'x|", []),
        ("d = DATE '2023|", ["'2023-12-31'"]),
        ("d = '2024-01-01' AND s = '|", ["'ch'", "'de'"]),
        ("d = DATE '2024-01-01' AND s = '|", ["'ch'", "'de'"]),
        ("s = '|' AND d = '2024-01-01'", ["'Ch", "'ch", "'de", "'it\\'s"]),
        ("d = '2024-10-05' AND s = '|", ["'Ch'", "'it\\'s'"]),
        ("d = '2024-10-05' AND s = 'it|", ["'it\\'s'"]),
        ("d = '2024-01-01' AND s = 'de' AND n = |", ["-2", "20"]),
        ("d = '2024-01-01' AND s = 'de' AND n = '-|", ["'-2'"]),
        ("d = '2024-01-01' AND s = 'de' AND n = '2|", ["'20'"]),
        ("n = '2|", ["'2'", "'20'", "'21'", "'200'"]),
        ("n = '20|", ["'20'", "'200'"]),
        ("d = '2024-01-01' AND s = 'ch' AND n = 2 AND at = '2024-01-01 0|", ["'2024-01-01 01:00:00'"]),
        ("d = '2024-01-01' AND s = 'de' AND n = -2 AND at = '2024-1|", ["'2024-10-01 02:00:00'"]),
        ("d = '2024-01-01' AND s = 'de' AND n = 20 AND at = '2024-01-01 02:00:00' AND k = '|", ["'2.00'"]),
        ("k = '1|", ["'1.50'", "'10.00'"]),
        ("d = 'no day' AND s = '|", ["'Ch'", "'ch'", "'de'", "'it\\'s'"]),
    ],
)
def test_partition_values(partitioned: Session, marked: str, expected: list[str]) -> None:
    add(partitioned, *ROWS)
    refresher = Refresher(partitioned.catalog)
    found = texts(partitioned, refresher, f"SELECT 1 FROM p WHERE {marked}")
    assert found[: len(expected)] == expected
    assert all(text[0] not in "'-0123456789" for text in found[len(expected) :])


def test_many_values_are_few_reads(partitioned: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [f"2024-01-{day:02}|s{number:03}|0|2024-01-01 00:00:00|0" for day in (1, 2) for number in range(150)]
    add(partitioned, *rows)
    refresher = Refresher(partitioned.catalog)
    reads = 0
    from rewriter.catalog.reading import queries

    original = queries.key_page

    def counted(*arguments: object) -> object:
        nonlocal reads
        reads += 1
        return original(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(queries, "key_page", counted)
    assert texts(partitioned, refresher, "SELECT 1 FROM p WHERE d = '|") == ["'2024-01-01'", "'2024-01-02'"]
    assert reads <= 4
    reads = 0
    found = texts(partitioned, refresher, "SELECT 1 FROM p WHERE d = '2024-01-02' AND s = 's1|")
    assert found == [f"'s{number}'" for number in range(100, 130)]
    assert reads <= 6


def test_a_slow_catalog_gives_the_values_read_so_far(partitioned: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    add(partitioned, *(f"2024-01-{day:02}|s|0|2024-01-01 00:00:00|0" for day in range(1, 32)))
    refresher = Refresher(partitioned.catalog)
    monkeypatch.setattr(partition_values, "_LONGEST_READ", 0.0)
    assert texts(partitioned, refresher, "SELECT 1 FROM p WHERE d = '|") == []
    reader = PartitionValuesReader(partitioned.catalog)
    reader._lock.acquire()
    assert complete("SELECT 1 FROM p WHERE d = '", 27, refresher.names, reader) == []
