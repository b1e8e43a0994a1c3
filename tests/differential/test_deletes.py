"""DELETE with random conditions about partition columns leaves the rows for which an engine does not find them TRUE."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from rewriter.errors import AnalysisError, DataError, NotSupportedError
from rewriter.exec.spark.engine import SparkEngine
from rewriter.session import Session

from .test_computed_pruning import TABLES, World


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    created = World(tmp_path_factory.mktemp("deletes") / "warehouse", 7)
    yield created
    created.session.close()


def conditions(world: World, name: str, rng: random.Random) -> str:
    """A condition without the data column, most of them with a comparison that narrows the partitions."""
    while True:
        condition = world.words(name, rng).condition(1)
        if "x % 2" not in condition:
            return condition


def kept(session: Session, name: str, condition: str) -> list[int] | None:
    """The rows that DELETE leaves, which is rolled back; ``None`` if it is refused."""
    session.execute("START TRANSACTION")
    try:
        before = session.execute(f"SELECT count(*) FROM {name}").fetch()[0][0]
        result = session.execute(f"DELETE FROM {name} WHERE {condition}")
        left = [x for (x,) in session.execute(f"SELECT x FROM {name} ORDER BY x").rows()]
        assert result.rowcount == before - len(left)
        return left
    except (DataError, AnalysisError):
        return None
    except NotSupportedError as error:
        if error.condition != "UNDECIDED_CONDITION":
            raise
        return None
    finally:
        session.execute("ROLLBACK")


@pytest.mark.parametrize("seed", range(8))
def test_rows_are_left_for_which_the_condition_is_not_true(world: World, seed: int) -> None:
    rng, decided, deleted = random.Random(seed), 0, 0
    for _ in range(12):
        name = rng.choice(list(TABLES))
        condition = conditions(world, name, rng)
        expected = world.answer(f"SELECT x FROM (SELECT * FROM {name}) WHERE ({condition}) IS NOT TRUE")
        left = kept(world.session, name, condition)
        if left is not None and not isinstance(expected, str):
            assert sorted(repr((x,)) for x in left) == expected, condition
            decided += 1
            deleted += len(left) < 45
    assert decided > 3
    assert deleted > 1


def left_on_spark(session: Session, name: str, condition: str) -> list[int] | None:
    """The rows for which the condition is not TRUE; ``None`` where Spark casts what another part rules out."""
    try:
        return [
            x for (x,) in session.execute(f"SELECT x FROM {name} WHERE ({condition}) IS NOT TRUE ORDER BY x").rows()
        ]
    except DataError:
        return None


def test_spark_finds_true_what_is_deleted(world: World, spark: SparkEngine) -> None:
    rng, decided = random.Random(11), 0
    with Session(world.root, engine=spark) as session:
        for name in TABLES:
            left_by_condition: dict[str, list[int]] = {}
            for _ in range(10):
                condition = conditions(world, name, rng)
                left = kept(world.session, name, condition)
                # DELETE does not compute what another condition rules out.
                if left is not None and not isinstance(world.answer(f"SELECT {condition} FROM {name}"), str):
                    left_by_condition[condition] = left
            for condition, left in left_by_condition.items():
                rows = left_on_spark(session, name, condition)
                if rows is not None:
                    decided += 1
                    assert rows == left, condition
    assert decided > 10
