"""The cube declares the measure that COUNT(*) adds up, on every engine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from rewriter.catalog import Catalog
from rewriter.errors import AnalysisError, NotSupportedError, ParseError
from rewriter.session import Session

RANGE = "t >= '2013-01-01' AND t < '2013-01-02'"
#: Measures, and the one that counts events; ``None`` if the declaration does not determine it.
DECLARED = {
    "n BIGINT MEASURE COUNT": "n",
    "n BIGINT MEASURE COUNT NOT NULL, m BIGINT MEASURE SUM": "n",
    "n BIGINT MEASURE COUNT NOT NULL, m BIGINT MEASURE SUM COUNTED BY N": None,
    "n BIGINT MEASURE COUNT, m BIGINT MEASURE SUM COUNTED BY n NOT NULL": "n",
    "n BIGINT MEASURE COUNT, m BIGINT MEASURE SUM COUNTED BY n NOT NULL, o INT MEASURE SUM COUNTED BY n": None,
    "n BIGINT MEASURE COUNT EVENTS NOT NULL, m BIGINT MEASURE SUM COUNTED BY n": "n",
    "n BIGINT MEASURE COUNT, o BIGINT MEASURE COUNT, m BIGINT MEASURE SUM COUNTED BY o": "n",
    "n BIGINT MEASURE COUNT, o BIGINT MEASURE COUNT, m BIGINT MEASURE SUM COUNTED BY o NOT NULL": None,
    "n BIGINT MEASURE COUNT, o BIGINT MEASURE COUNT": None,
    "n BIGINT MEASURE COUNT, o BIGINT MEASURE COUNT EVENTS": "o",
    "n BIGINT MEASURE COUNT, o BIGINT MEASURE COUNT EVENTS, m BIGINT MEASURE SUM COUNTED BY o": "o",
}


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", "duckdb") as opened:
        yield opened


@pytest.fixture(params=["duckdb", "spark"])
def session(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", request.getfixturevalue(request.param)) as opened:
        yield opened


def make(session: Session, n: str) -> None:
    """Writes two rows of ten and twenty events with counted values of ``m``, and a day rolled up from its hours."""
    session.execute(f"CREATE CUBE c (k STRING, n BIGINT {n}, m BIGINT MEASURE SUM COUNTED BY n, t TIMESTAMP TIME)")
    for table in ("hours", "days"):
        session.execute(f"CREATE TABLE {table} (k STRING, n BIGINT, m BIGINT) PARTITIONED BY (dt STRING)")
    session.execute(
        "CREATE FACT f OF CUBE c STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY t AS (dt), "
        "TABLE days PERIOD DAILY PARTITIONED BY t AS (dt))"
    )
    empty = " ".join(f"PARTITION (dt = '2013-01-01-{hour:02}')" for hour in range(1, 24))
    session.execute(f"ALTER TABLE hours ADD {empty}")
    session.execute("INSERT INTO hours VALUES ('a', 10, 100, '2013-01-01-00'), (NULL, 20, 200, '2013-01-01-00')")
    session.execute("REFRESH FACT f")


@pytest.mark.parametrize("declared", DECLARED)
def test_the_declaration_says_which_measure_counts_events(bare: Session, declared: str) -> None:
    result = bare.execute(f"CREATE CUBE c ({declared}, t TIMESTAMP TIME)")
    cube = bare.catalog.snapshot().cube("c")
    assert (cube.count_measure and cube.count_measure.name) == DECLARED[declared]
    assert cube.count_is_ambiguous == (DECLARED[declared] is None)
    assert bool(result.warnings) == cube.count_is_ambiguous
    assert all("MEASURE COUNT EVENTS" in warning for warning in result.warnings)
    ((text,),) = bare.execute("SHOW CREATE CUBE c").fetch()
    bare.execute("DROP CUBE c")
    bare.execute(str(text))
    assert replace(bare.catalog.snapshot().cube("c"), id=cube.id) == cube


def test_a_cube_without_a_counter_counts_base_rows_and_brings_no_warning(bare: Session) -> None:
    assert bare.execute("CREATE CUBE c (m BIGINT MEASURE SUM, t TIMESTAMP TIME)").warnings == ()
    assert not bare.catalog.snapshot().cube("c").count_is_ambiguous


def test_two_marks_contradict_each_other(bare: Session) -> None:
    statement = "CREATE CUBE c (n BIGINT MEASURE COUNT EVENTS, o INT MEASURE COUNT EVENTS, t TIMESTAMP TIME)"
    with pytest.raises(AnalysisError, match="Both n and o") as caught:
        bare.execute(statement)
    assert caught.value.condition == "INVALID_CUBE"
    assert caught.value.position is not None
    assert statement[caught.value.position.start :].startswith("o INT")


def test_only_a_count_is_marked(bare: Session) -> None:
    with pytest.raises(ParseError, match="declared COUNT, not SUM"):
        bare.execute("CREATE CUBE c (n BIGINT MEASURE SUM EVENTS, t TIMESTAMP TIME)")


def test_a_column_may_be_called_events(bare: Session) -> None:
    bare.execute("CREATE CUBE events (events BIGINT MEASURE COUNT EVENTS, t TIMESTAMP TIME)")
    assert bare.execute("DESCRIBE CUBE events").fetch()[0] == ("events", "bigint", "MEASURE COUNT", "EVENTS")


def test_what_counts_values_counts_no_events(session: Session) -> None:
    make(session, "MEASURE COUNT NOT NULL")
    asked = {
        f"SELECT COUNT(*) FROM c WHERE {RANGE}": "COUNT(*)",
        f"SELECT count(1) AS x FROM c WHERE {RANGE}": "count(1)",
        f"SELECT COUNT(k) FROM c WHERE {RANGE}": "COUNT(k)",
        f"SELECT SUM(m) FROM c WHERE {RANGE} HAVING COUNT(*) > 5": "COUNT(*)",
        f"SELECT COUNT_IF(k = 'a') FROM c WHERE {RANGE}": "COUNT_IF(k = 'a')",
        f"SELECT k, COUNT(*) OVER () FROM c WHERE {RANGE}": "COUNT(*)",
        f"SELECT x.s FROM (SELECT COUNT(*) AS s FROM c WHERE {RANGE}) x": "COUNT(*)",
        f"SELECT COUNT(*) FROM (SELECT k FROM c WHERE {RANGE}) x": "COUNT(*)",
        f"EXPLAIN COVER SELECT COUNT(*) FROM c WHERE {RANGE}": "COUNT(*)",
    }
    for query, call in asked.items():
        with pytest.raises(NotSupportedError, match="n counts the values of m") as caught:
            session.execute(query).fetch()
        assert caught.value.condition == "AMBIGUOUS_COUNT"
        assert caught.value.hint is not None
        assert "n BIGINT MEASURE COUNT EVENTS NOT NULL" in caught.value.hint
        assert caught.value.position is not None
        assert query[caught.value.position.start : caught.value.position.end] == call
    for query in (
        f"SELECT COUNT(*) FROM c a JOIN c b ON a.k = b.k WHERE a.{RANGE.replace(' t', ' a.t')} AND b.t = '2013-01-01'",
        f"SELECT COUNT(*) FROM (SELECT k, row_number() OVER (ORDER BY k) r FROM c WHERE {RANGE}) x",
    ):
        with pytest.raises(NotSupportedError) as caught:
            session.execute(query).fetch()
        assert caught.value.condition == "AMBIGUOUS_COUNT"
    result = session.execute(f"SELECT COUNT(DISTINCT k), SUM(n), AVG(m) FROM c WHERE {RANGE}")
    assert (result.stats.partitions, result.fetch()) == (1, [(1, 30, 10.0)])
    distinct = f"SELECT COUNT(*) FROM (SELECT DISTINCT k FROM c WHERE {RANGE}) x"
    assert session.execute(distinct).fetch() == [(2,)]


def test_what_is_marked_counts_events_from_rollups(session: Session) -> None:
    make(session, "MEASURE COUNT EVENTS NOT NULL")
    result = session.execute(f"SELECT COUNT(*), COUNT(k), COUNT_IF(k IS NULL), AVG(m) FROM c WHERE {RANGE}")
    assert (result.stats.partitions, result.fetch()) == (1, [(30, 10, 20, 10.0)])


@pytest.mark.parametrize("declared", DECLARED)
def test_a_cube_of_an_earlier_release_keeps_its_meaning(tmp_path: Path, declared: str) -> None:
    """In an earlier release the first COUNT measure without COUNTED BY counted events, and definitions had no marks."""
    with Session(tmp_path, "duckdb") as session:
        session.execute(f"CREATE CUBE c ({declared.replace(' EVENTS', '')}, t TIMESTAMP TIME)")
        cube = session.catalog.snapshot().cube("c")
        with session.catalog.database.write() as connection:
            ((text,),) = connection.exec_driver_sql("SELECT definition FROM objects WHERE kind = 'cube'").fetchall()
            assert text.count(",false]") == len(cube.measures)
            older = text.replace(",false]", "]")
            connection.exec_driver_sql("UPDATE objects SET definition = ? WHERE kind = 'cube'", (older,))
    named = {measure.counted_by.lower() for measure in cube.measures if measure.counted_by}
    meant = [measure.name for measure in cube.counters if measure.name not in named]
    catalog = Catalog.open(tmp_path)
    kept = catalog.snapshot().cube("c")
    catalog.close()
    if meant:
        assert kept.count_measure is not None
        assert kept.count_measure.name == meant[0]
    else:
        assert kept == cube
    # Marked only if necessary.
    assert (kept == cube) == (not meant or (cube.count_measure is not None and cube.count_measure.name == meant[0]))
