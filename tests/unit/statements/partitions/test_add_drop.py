"""DROP PARTITION of full specs, which are looked up together, beside those that are searched."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rewriter.errors import AnalysisError, DataError, Error
from rewriter.session import Session


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path, "duckdb") as session:
        session.execute("CREATE TABLE t (x INT) PARTITIONED BY (c STRING, d INT)")
        specs = " ".join(f"PARTITION (c='{c}', d={d})" for c in "ab" for d in range(3))
        session.execute(f"ALTER TABLE t ADD {specs} PARTITION (c=NULL, d=NULL)")
        yield session


def names(session: Session) -> list[object]:
    return [name for (name,) in session.execute("SHOW PARTITIONS t").rows()]


def test_full_and_partial_specs_in_one_statement(session: Session) -> None:
    session.execute("ALTER TABLE t DROP PARTITION (D = '01', C = 'a'), PARTITION (c = 'b'), PARTITION (d = 2, c = 'a')")
    assert names(session) == ["c=__HIVE_DEFAULT_PARTITION__/d=__HIVE_DEFAULT_PARTITION__", "c=a/d=0"]
    session.execute("ALTER TABLE t DROP PARTITION (c = NULL, d = '__HIVE_DEFAULT_PARTITION__'), PARTITION (c='a', d=0)")
    assert names(session) == []


def test_a_spec_that_finds_nothing_is_the_error_wherever_it_stands(session: Session) -> None:
    before = names(session)
    statement = "ALTER TABLE t DROP PARTITION (c='a', d=1), PARTITION (c='z', d=1), PARTITION (c='y')"
    with pytest.raises(AnalysisError, match=r"PARTITION \(c = z, d = 1\)") as caught:
        session.execute(statement)
    assert caught.value.condition == "PARTITIONS_NOT_FOUND"
    assert caught.value.position is not None
    assert statement[caught.value.position.start :].startswith("c='z', d=1")
    assert names(session) == before
    session.execute(statement.replace("DROP", "DROP IF EXISTS"))
    assert names(session) == [name for name in before if name != "c=a/d=1"]


def test_what_is_wrong_with_a_later_spec_comes_first(session: Session) -> None:
    with pytest.raises(DataError):
        session.execute("ALTER TABLE t DROP PARTITION (c='z', d=1), PARTITION (c='a', d='x')")
    with pytest.raises(AnalysisError, match="partition column e"):
        session.execute("ALTER TABLE t DROP PARTITION (c='z', d=1), PARTITION (c='a', e < 1)")


@pytest.mark.parametrize(
    ("first", "second"), [("c='a', e=1", "c='a', d='x'"), ("e=1", "c='a', d='x'"), ("d='x'", "c='', d=1")]
)
def test_of_two_specs_that_cannot_be_read_the_first_is_told(session: Session, first: str, second: str) -> None:
    for earlier, later in ((first, second), (second, first)):
        statement = f"ALTER TABLE t DROP IF EXISTS PARTITION ({earlier}), PARTITION ({later})"
        with pytest.raises(Error) as caught:
            session.execute(statement)
        assert caught.value.position is not None
        assert caught.value.position.end <= statement.index("), PARTITION")


def test_a_spec_that_is_named_twice_is_dropped_once(session: Session) -> None:
    session.execute("ALTER TABLE t DROP PARTITION (c='a', d=1), PARTITION (c='a', d=1), PARTITION (d=1)")
    assert names(session) == [name for name in names(session) if not str(name).endswith("d=1")]
    assert len(names(session)) == 5


VALUES = [
    ("DOUBLE", "-0.0", "0.0"),
    ("FLOAT", "1.50", "1.5"),
    ("DECIMAL(6,2)", "1", "1.00"),
    ("DATE", "'2019-8-3'", "'2019-08-03'"),
    ("TIMESTAMP", "'2019-08-03 01:00:00.500'", "TIMESTAMP '2019-08-03 01:00:00.5'"),
    ("CHAR(3)", "'a'", "'a  '"),
    ("VARCHAR(3)", "'a%/'", "'a%/'"),
    ("BOOLEAN", "TRUE", "'true'"),
    ("BIGINT", "007", "7"),
]


@pytest.mark.parametrize(("type", "added", "dropped"), VALUES)
def test_a_value_is_read_as_add_reads_it(tmp_path: Path, type: str, added: str, dropped: str) -> None:
    with Session(tmp_path, "duckdb") as session:
        session.execute(f"CREATE TABLE t (x INT) PARTITIONED BY (c {type}, d INT)")
        session.execute(f"ALTER TABLE t ADD PARTITION (c={added}, d=1)")
        # Both ways, by the key and by a search, find the same.
        searched = session.execute(f"EXPLAIN SCAN ALTER TABLE t DROP PARTITION (c={dropped}, d=1)")
        assert any("1 found" in str(row[0]) for row in searched.rows())
        session.execute(f"ALTER TABLE t DROP PARTITION (c={dropped}, d=1)")
        assert names(session) == []
