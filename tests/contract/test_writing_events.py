"""Every statement that writes into a RAW table proves that the events lie in the periods of their partitions."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rewriter
from rewriter.catalog.keys.values import DEFAULT_PARTITION
from rewriter.errors import ConflictError, Error
from rewriter.exec.engine import Engine
from rewriter.session import Session

RIGHT, WRONG = "TIMESTAMP '2013-01-02 23:59:59.999999'", "TIMESTAMP '2013-01-03 00:00:00'"
COLUMNS = "(who STRING, happened TIMESTAMP) PARTITIONED BY (dt STRING)"
FACT = "CREATE FACT f OF CUBE c STORED IN (TABLE events PERIOD DAILY PARTITIONED BY t AS (dt) RAW (t AS happened))"


@pytest.fixture
def session(engine: Engine, tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", engine) as opened:
        opened.execute("CREATE CUBE c (who STRING, n BIGINT MEASURE COUNT, t TIMESTAMP TIME)")
        yield opened


@pytest.fixture
def bare(duckdb: Engine, tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", duckdb) as opened:
        opened.execute("CREATE CUBE c (who STRING, n BIGINT MEASURE COUNT, t TIMESTAMP TIME)")
        yield opened


def make(session: Session, clauses: str = "") -> None:
    external = "EXTERNAL" if "LOCATION" in clauses else ""
    session.execute(f"CREATE {external} TABLE events {COLUMNS} {clauses}")
    session.execute(FACT)


def refused(session: Session, statement: str, at: str) -> str:
    """Runs a statement that must fail, at a place in its text, and leave nothing. Returns the message."""
    before, tree = session.execute("SELECT * FROM events").fetch(), _tree(session)
    with pytest.raises(Error) as caught:
        session.execute(statement)
    error = caught.value
    assert error.condition == "TIME_OUTSIDE_PARTITION", error
    assert error.object == "events"
    assert error.position is not None
    assert statement[error.position.start : error.position.end] == at
    assert sorted(map(str, session.execute("SELECT * FROM events").fetch())) == sorted(map(str, before))
    assert _tree(session) == tree
    return f"{error.message} {error.hint}"


def _tree(session: Session) -> list[str]:
    """Returns the paths of the files in the warehouse, without those of the catalog."""
    root = Path(session.catalog.warehouse)
    return sorted(str(path) for path in root.rglob("*") if path.is_file() and "catalog" not in path.name)


@pytest.mark.share(3, "spark")
@pytest.mark.parametrize(
    "clauses",
    ["", "TBLPROPERTIES ('rewriter.packed' = 'false')", "STORED AS csv", "STORED AS orc LOCATION 'e'",
     "STORED AS csv LOCATION 'e'", "STORED AS parquet LOCATION 'e'"],
)  # fmt: skip
def test_an_insert_into_a_wrong_partition_writes_nothing(session: Session, clauses: str) -> None:
    make(session, clauses)
    session.execute(f"INSERT INTO events VALUES ('a', {RIGHT}, '2013-01-02'), ('a', NULL, NULL)")
    query = f"VALUES ('b', {RIGHT}, '2013-01-02'), ('b', {WRONG}, '2013-01-02')"
    for verb in ("INSERT INTO", "INSERT OVERWRITE"):
        assert refused(session, f"{verb} events {query}", query) == (
            "An event at 2013-01-03 lies outside the period of its partition dt=2013-01-02 of events. "
            "Write each event into the partition of its t: this one into dt=2013-01-03."
        )
    query = f"SELECT 'b', {WRONG}"
    refused(session, f"INSERT INTO events PARTITION (dt = '2013-01-02') {query}", query)
    message = refused(session, f"INSERT INTO events PARTITION (dt = NULL) {query}", query)
    assert f"partition dt={DEFAULT_PARTITION} of events" in message
    query = "SELECT 'b', NULL"
    message = refused(session, f"INSERT OVERWRITE events PARTITION (dt = '2013-01-02') {query}", query)
    assert message.startswith(
        "An event without a time lies outside the period of its partition dt=2013-01-02 of events."
    )
    assert message.endswith(f"into dt={DEFAULT_PARTITION}.")
    session.execute(f"INSERT OVERWRITE events PARTITION (dt = '2013-01-03') SELECT 'b', {WRONG}")
    assert session.execute("SELECT COUNT(*) FROM c").fetch() == [(3,)]


def test_events_that_are_loaded_or_moved(session: Session, tmp_path: Path) -> None:
    make(session)
    session.execute("CREATE TABLE other " + COLUMNS)
    session.execute(f"INSERT INTO other VALUES ('a', {RIGHT}, '2013-01-02'), ('a', {WRONG}, '2013-01-04')")
    session.execute(f"INSERT INTO other PARTITION (dt = '2013-01-05') SELECT 'a', {WRONG}")
    session.execute(f"INSERT OVERWRITE DIRECTORY '{tmp_path / 'wrong'}' USING parquet SELECT 'a' who, {WRONG} happened")
    session.execute(f"INSERT OVERWRITE DIRECTORY '{tmp_path / 'right'}' USING parquet SELECT 'a' who, {RIGHT} happened")
    path = f"'{tmp_path / 'wrong'}'"
    refused(session, f"LOAD DATA INPATH {path} INTO TABLE events PARTITION (dt = '2013-01-02')", path)
    spec = "dt = '2013-01-02'"
    refused(session, f"ALTER TABLE events ADD PARTITION ({spec}) LOCATION {path}", spec)
    for day in ("4", "5"):
        spec = f"dt = '2013-01-0{day}'"
        refused(session, f"ALTER TABLE events EXCHANGE PARTITION ({spec}) WITH TABLE other", spec)
    session.execute("ALTER TABLE events EXCHANGE PARTITION (dt = '2013-01-02') WITH TABLE other")
    for new in ("dt = '2013-01-03'", "dt = NULL"):
        refused(session, f"ALTER TABLE events PARTITION (dt = '2013-01-02') RENAME TO PARTITION ({new})", new)
    session.execute(f"LOAD DATA INPATH '{tmp_path / 'right'}' INTO TABLE events PARTITION (dt = '2013-01-02')")
    session.execute(f"ALTER TABLE events ADD PARTITION (dt = '2013-01-03') LOCATION {path}")
    session.execute("ALTER TABLE events ADD PARTITION (dt = '2013-01-06')")
    session.execute("ALTER TABLE events PARTITION (dt = '2013-01-06') RENAME TO PARTITION (dt = '2013-01-01')")
    assert session.execute("SELECT COUNT(*) FROM c").fetch() == [(3,)]
    assert [row[8] for row in session.execute("CHECK FACT f").fetch()] == ["agrees"]


def test_one_wrong_event_fails_all_inserts_of_a_statement(bare: Session) -> None:
    make(bare)
    bare.execute("CREATE TABLE other " + COLUMNS)
    branch = "SELECT 'a', happened, '2013-01-03'"
    source = f"SELECT {RIGHT} AS happened"
    statement = f"FROM ({source}) AS s INSERT INTO other {branch} INSERT INTO events {branch}"
    with pytest.raises(Error, match="An event at 2013-01-02T23:59:59") as caught:
        bare.execute(statement)
    assert caught.value.condition == "TIME_OUTSIDE_PARTITION"
    assert bare.execute("SELECT COUNT(*) FROM other").fetch() == [(0,)]


def test_a_transaction_goes_on_after_a_wrong_event(bare: Session) -> None:
    make(bare)
    bare.execute(f"INSERT INTO events VALUES ('a', {RIGHT}, '2013-01-02')")
    bare.execute("START TRANSACTION")
    for statement in (
        "ALTER TABLE events PARTITION (dt = '2013-01-02') RENAME TO PARTITION (dt = '2013-01-03')",
        f"INSERT INTO events VALUES ('a', {WRONG}, '2013-01-02')",
    ):
        with pytest.raises(Error, match="lies outside the period of its partition"):
            bare.execute(statement)
    bare.execute(f"INSERT INTO events VALUES ('a', {WRONG}, '2013-01-03')")
    bare.execute("COMMIT")
    assert bare.execute("SELECT COUNT(*) FROM c").fetch() == [(2,)]


def test_explain_of_a_move_raises_its_error(bare: Session) -> None:
    make(bare)
    bare.execute(f"INSERT INTO events VALUES ('a', {RIGHT}, '2013-01-02')")
    statement = "ALTER TABLE events PARTITION (dt = '2013-01-02') RENAME TO PARTITION (dt = '2013-01-03')"
    with pytest.raises(Error, match="An event at 2013-01-02T23:59:59"):
        bare.execute(f"EXPLAIN {statement}")


def test_only_events_that_nothing_proves_bring_a_warning(bare: Session) -> None:
    def warnings(clauses: str, write: str | None) -> list[str]:
        external = "EXTERNAL" if "LOCATION" in clauses else ""
        bare.execute(f"CREATE {external} TABLE events {COLUMNS} {clauses}")
        if write is not None:
            bare.execute(write)
        of_fact = list(bare.execute(FACT).warnings)
        bare.execute("DROP FACT f")
        bare.execute("DROP TABLE events")
        return of_fact

    assert warnings("", None) == []
    assert warnings("", "ALTER TABLE events ADD PARTITION (dt = '2013-01-02')") == []
    word = "on your word, each event lies in the partition of its t; CHECK FACT f proves it"
    insert = f"INSERT INTO events VALUES ('a', {RIGHT}, '2013-01-02')"
    assert warnings("", insert) == [f"events is RAW and already has events: {word}"]
    assert warnings("LOCATION 'e'", None) == [f"events is RAW and external: {word}"]


def test_events_whose_partitions_every_write_computes_bring_none(bare: Session) -> None:
    bare.execute("CREATE TABLE computed (id STRING, t TIMESTAMP) PARTITIONED BY (days(t))")
    bare.execute(f"INSERT INTO computed VALUES ('a', {RIGHT})")
    bare.execute("CREATE CUBE of_computed (id STRING, t TIMESTAMP TIME)")
    fact = bare.execute("CREATE FACT all_computed OF CUBE of_computed STORED IN (TABLE computed RAW)")
    assert list(fact.warnings) == []


def test_a_write_conflicts_with_the_fact_that_makes_its_table_raw(bare: Session, duckdb: Engine) -> None:
    """Nothing has checked events that were written before the fact and are committed after it."""
    bare.execute("CREATE TABLE events " + COLUMNS)
    with Session(bare.catalog.warehouse, duckdb) as other:
        for statement in (
            f"INSERT INTO events VALUES ('a', {WRONG}, '2013-01-02')",
            f"INSERT OVERWRITE events PARTITION (dt = '2013-01-02') VALUES ('a', {WRONG})",
        ):
            other.execute("START TRANSACTION")
            other.execute(statement)
            bare.execute(FACT)
            with pytest.raises(ConflictError, match="RAW table of the fact"):
                other.execute("COMMIT")
            bare.execute("DROP FACT f")
        other.execute("START TRANSACTION")
        other.execute("ALTER TABLE events ADD PARTITION (dt = '2013-01-02')")
        bare.execute(FACT)
        other.execute("COMMIT")
    assert bare.execute("SELECT COUNT(*) FROM events").fetch() == [(0,)]


def test_an_event_whose_time_cannot_be_computed(bare: Session) -> None:
    bare.execute("CREATE TABLE events (who STRING, happened STRING) PARTITIONED BY (dt STRING)")
    bare.execute(FACT.replace("t AS happened", "t AS CAST(happened AS TIMESTAMP)"))
    query = "SELECT 'a', 'yesterday'"
    with pytest.raises(Error, match="The times of the events that events receives cannot be read") as caught:
        bare.execute(f"INSERT INTO events PARTITION (dt = '2013-01-02') {query}")
    assert caught.value.condition == "CAST_INVALID_INPUT"
    assert caught.value.position is not None
    bare.execute("INSERT INTO events PARTITION (dt = '2013-01-02') SELECT 'a', '2013-01-02'")
    assert bare.execute("SELECT COUNT(*) FROM c").fetch() == [(1,)]


def test_a_date_is_the_time_of_an_event(bare: Session) -> None:
    bare.execute("CREATE TABLE events (who STRING, happened DATE) PARTITIONED BY (dt STRING)")
    bare.execute(FACT)
    bare.execute("INSERT INTO events VALUES ('a', DATE '2013-01-02', '2013-01-02')")
    query = "VALUES ('a', DATE '2013-01-02', '2013-01-03')"
    refused(bare, f"INSERT INTO events {query}", query)


def test_a_new_column_does_not_replace_the_count_of_events(bare: Session) -> None:
    make(bare)
    bare.execute(f"INSERT INTO events VALUES ('a', {RIGHT}, '2013-01-02')")
    for name in ("n", "N"):
        with pytest.raises(Error, match="counts the events of this RAW table") as caught:
            bare.execute(f"ALTER TABLE events ADD COLUMNS ({name} BIGINT)")
        assert caught.value.condition == "COLUMN_IN_USE"
    bare.execute("ALTER TABLE events ADD COLUMNS (m BIGINT, t TIMESTAMP)")
    assert bare.execute("SELECT COUNT(*), MAX(t) FROM c").fetch()[0][0] == 1
    bare.execute("DROP FACT f")
    bare.execute("ALTER TABLE events ADD COLUMNS (n BIGINT)")


def test_check_fact_finds_events_that_were_written_before_the_fact(session: Session) -> None:
    session.execute("CREATE TABLE events " + COLUMNS)
    session.execute(f"INSERT INTO events VALUES ('a', {RIGHT}, '2013-01-02'), ('a', {WRONG}, NULL), ('a', NULL, NULL)")
    session.execute(FACT)
    findings = [(row[2], row[8]) for row in session.execute("CHECK FACT f").fetch()]
    assert findings == [(None, "1 event outside the partition's period"), ("2013-01-02", "differs")]
    findings = [(row[2], row[8]) for row in session.execute("CHECK FACT f FROM '2013-01-02' TO '2013-01-03'").fetch()]
    assert findings == [("2013-01-02", "agrees")]
    session.execute("INSERT OVERWRITE events PARTITION (dt = NULL) SELECT 'a', NULL")
    session.execute(f"INSERT INTO events PARTITION (dt = '2013-01-03') SELECT 'a', {WRONG}")
    assert [row[8] for row in session.execute("CHECK FACT f").fetch()] == ["agrees"]


def test_events_that_are_appended_or_streamed(duckdb: Engine, tmp_path: Path) -> None:
    times = [datetime(2013, 1, 2, 23, 59, tzinfo=UTC), datetime(2013, 1, 3, tzinfo=UTC)]
    days, whos = [pa.array(["2013-01-02"] * 2), pa.array(["2013-01-02", "2013-01-03"])], pa.array(["a", "b"])
    wrong, right = (
        pa.table({"who": whos, "happened": pa.array(times, pa.timestamp("us", "UTC")), "dt": dt}) for dt in days
    )
    (tmp_path / "in").mkdir()
    pq.write_table(wrong, tmp_path / "in" / "wrong.parquet")
    options = f"OPTIONS ('stream' = 's', 'checkpoint' = '{tmp_path}/checkpoint')"
    stream = f"INSERT INTO events SELECT who, happened, dt FROM STREAM parquet.`{tmp_path}/in` {options}"
    with rewriter.connect(tmp_path / "warehouse", engine=duckdb) as connection:
        connection.execute("CREATE CUBE c (who STRING, n BIGINT MEASURE COUNT, t TIMESTAMP TIME)")
        connection.execute(f"CREATE TABLE events {COLUMNS}")
        connection.execute(FACT)
        for write in (lambda: connection.append("events", wrong), lambda: connection.execute(stream)):
            with pytest.raises(rewriter.Error, match="An event at 2013-01-03 lies outside the period") as caught:
                write()
            assert caught.value.condition == "TIME_OUTSIDE_PARTITION"
        assert connection.append("events", right).rowcount == 2
        assert connection.execute("SELECT COUNT(*) FROM c").fetchall() == [(2,)]
