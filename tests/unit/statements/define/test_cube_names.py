"""Names of cubes and facts are as plain as those of tables. Objects of earlier versions with other names are usable."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from rewriter.catalog.model.changes import CreateObject
from rewriter.errors import AnalysisError
from rewriter.session import Session

CUBE = "CREATE CUBE {} (k STRING, n BIGINT MEASURE COUNT, t TIMESTAMP TIME)"
FACT = "CREATE FACT {} OF CUBE {} STORED IN (TABLE {} PERIOD DAILY PARTITIONED BY t AS (ds))"
TABLE = "CREATE TABLE {} (k STRING, n BIGINT) PARTITIONED BY (ds STRING)"


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", "duckdb") as opened:
        yield opened


@pytest.mark.parametrize("name", ["`a b`", "default.`a b`", "`a-b`", "`a/b`", "`a``b`"])
def test_cubes_and_facts_have_names_that_tables_can_have(session: Session, name: str) -> None:
    session.execute(TABLE.format("days"))
    session.execute(CUBE.format("c"))
    statements = {
        "cube": CUBE.format(name),
        "fact": FACT.format(name, "c", "days"),
        "table": TABLE.format(name),
    }
    for kind, text in statements.items():
        with pytest.raises(AnalysisError) as caught:
            session.execute(text)
        error = caught.value
        assert error.condition == "INVALID_SCHEMA_OR_RELATION_NAME", kind
        assert f"is not a valid {kind} name" in error.message
        assert error.sqlstate == "42602"
        assert error.position is not None
        assert text[error.position.start : error.position.end] == name
    session.execute(FACT.format("`Äpfel_2`", "c", "days"))


def test_cubes_and_facts_of_earlier_versions_with_other_names_stay_usable(session: Session) -> None:
    session.execute(TABLE.format("days"))
    session.execute(CUBE.format("c"))
    session.execute(FACT.format("f", "c", "days"))
    session.execute("INSERT INTO days VALUES ('x', 3, '2024-01-01')")
    cube, fact = session.catalog.snapshot().cube("c"), session.catalog.snapshot().fact("f")
    session.execute("DROP FACT f")
    session.execute("DROP CUBE c")
    with session.catalog.begin(session.catalog.snapshot()) as transaction:
        old_cube = replace(cube, id=transaction.allocate_id(), name="a b")
        transaction.commit([CreateObject(old_cube)])
    with session.catalog.begin(session.catalog.snapshot()) as transaction:
        old_fact = replace(fact, id=transaction.allocate_id(), name="f g", cube="a b")
        transaction.commit([CreateObject(old_fact)])

    assert session.execute(CUBE.format("IF NOT EXISTS `a b`")).rowcount <= 0
    query = "SELECT COUNT(*) FROM `a b` WHERE t >= '2024-01-01' AND t < '2024-01-02'"
    assert list(session.execute(query).fetch()) == [(3,)]
    assert "`f g` OF CUBE" in str(session.execute("SHOW CREATE FACT `f g`").fetch()[0][0])
    session.execute("DROP FACT `f g`")
    session.execute(FACT.format("f", "`a b`", "days"))
    session.execute("DROP FACT f")
    session.execute("DROP CUBE `a b`")
    assert session.catalog.snapshot().find("a b") is None
