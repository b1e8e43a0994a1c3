"""Rewritten answer = answer over the base period, on random schemas, histories and queries.

A failure prints its seed and is shrunk into a golden file below pytest's temporary directory.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import rotation

from rewriter.dbapi import Connection
from rewriter.exec.engine import EngineQuery
from rewriter.exec.spark.engine import SparkEngine
from rewriter.golden.golden_file import read_cases
from rewriter.golden.runner import run_file
from rewriter.planner.rewrite import union_arms
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.timeline import OrdinalRange

from .campaign import Campaign, Tally, run, run_seed
from .caution import report, share
from .generator import WEIGHTS, Generator
from .histories import NOW
from .naming import TYPED_FORMS
from .queries import Select, asked
from .random_schemas import random_schema
from .schemas import statements
from .shrinking import simpler


def _assert_sound(tally: Tally) -> None:
    told = f"{tally.report()}\n{report(tally.caution)}"
    print(told)
    assert not tally.failures, "\n\n".join(tally.failures)
    # The generator must reach what it is for: complete and partial answers, answers from rollups, few refusals.
    assert tally.complete > tally.asked / 4, told
    assert tally.incomplete > tally.asked / 10, told
    assert tally.rolled > tally.asked / 8, told
    assert tally.narrow > tally.asked / 25, told
    assert tally.refused < 0.15 * tally.asked, told
    assert share(tally.caution) >= 0.9, told


def test_rewritten_answers_are_base_answers(tmp_path: Path) -> None:
    seeds = rotation.share(range(25), 12)
    tally = run(seeds, Campaign(queries=60), tmp_path)
    assert not tally.failures, "\n\n".join(tally.failures)
    assert tally.asked == 60 * len(seeds)
    # How many there are of each differs from schema to schema; the long form counts them. Some have hardly any.
    others = (seed for seed in range(25) if seed not in seeds)
    while min(tally.complete, tally.incomplete, tally.rolled, tally.narrow) == 0:
        tally.add(run_seed(next(others), Campaign(queries=60), tmp_path))
        assert not tally.failures, "\n\n".join(tally.failures)


@pytest.mark.long
def test_all_rewritten_answers_are_base_answers(tmp_path: Path) -> None:
    tally = run(range(25), Campaign(queries=120), tmp_path)
    assert tally.failures or tally.asked == 3000
    _assert_sound(tally)


@pytest.mark.parametrize("all_seeds", [False, pytest.param(True, marks=pytest.mark.long)])
def test_counters_sums_of_float_and_zeros_are_base_answers(tmp_path: Path, all_seeds: bool) -> None:
    seeds = range(400, 408)
    some_seeds, queries = (seeds, 60) if all_seeds else (rotation.share(seeds, 8), 30)
    tally = run(some_seeds, Campaign(queries=queries, numeric=True), tmp_path)
    print(tally.report())
    assert not tally.failures, "\n\n".join(tally.failures)
    # Some schemas have hardly a rollup that serves; all together have many.
    assert not all_seeds or tally.rolled > tally.asked / 6


@pytest.mark.long
def test_rewritten_answers_are_base_answers_long(tmp_path: Path) -> None:
    _assert_sound(run(range(1000, 1200), Campaign(queries=500), tmp_path))


def test_a_catalog_on_postgresql_answers_the_same(tmp_path: Path, postgres_url: str) -> None:
    tally = run_seed(8, Campaign(queries=10, rounds=1, steps=3), tmp_path, catalog=postgres_url)
    assert not tally.failures, "\n\n".join(tally.failures)
    assert tally.asked == 10
    assert tally.rolled


def _on_spark(seeds: Sequence[int], queries: int, tmp_path: Path, spark: Any) -> None:
    total = Tally()
    for seed in seeds:
        total.add(run_seed(seed, Campaign(queries, rounds=1, steps=8), tmp_path, spark))
    print(total.report())
    assert not total.failures, "\n\n".join(total.failures)
    assert total.complete + total.incomplete > (0.7 * total.asked if len(seeds) > 2 else 0)


def test_spark_answers_what_the_base_answers(tmp_path: Path, spark: Any) -> None:
    _on_spark(rotation.share(range(7000, 7005), 5), 12, tmp_path, spark)


@pytest.mark.long
def test_spark_answers_what_the_base_answers_long(tmp_path: Path, spark: Any) -> None:
    _on_spark(range(7000, 7005), 20, tmp_path, spark)
    _on_spark(range(8000, 8040), 25, tmp_path, spark)


@pytest.fixture
def framing(spark: Any) -> Iterator[Any]:
    """The engine of a session whose clock and arithmetic are not those of our queries."""
    from pyspark.sql import SparkSession

    spark.columns(EngineQuery("SELECT 1 AS a"))
    user = SparkSession.active().newSession()
    for name, value in (("session.timeZone", "Asia/Tokyo"), ("ansi.enabled", "false")):
        user.conf.set(f"spark.sql.{name}", value)
    engine = SparkEngine(session=user)
    yield engine
    engine.close()


def _through_frames(seeds: Sequence[int], queries: int, tmp_path: Path, framing: Any) -> Tally:
    total = Tally()
    for seed in seeds:
        total.add(run_seed(seed, Campaign(queries, rounds=1, steps=8, shrink=False, frames=True), tmp_path, framing))
    print(total.report())
    return total


def test_frames_have_what_the_base_has(tmp_path: Path, framing: Any) -> None:
    total = _through_frames(rotation.share(range(7100, 7105), 5), 8, tmp_path, framing)
    assert not total.failures, "\n\n".join(total.failures)


@pytest.mark.long
def test_frames_have_what_the_base_has_long(tmp_path: Path, framing: Any) -> None:
    total = _through_frames(range(7100, 7112), 20, tmp_path, framing)
    assert not total.failures, "\n\n".join(total.failures)
    assert total.complete + total.incomplete > 0.7 * total.asked


def test_a_frame_that_lacks_rows_is_found(tmp_path: Path, framing: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Connection.sql
    monkeypatch.setattr(Connection, "sql", lambda *given: whole(*given).limit(0))
    total = _through_frames([7100], 8, tmp_path, framing)
    assert "the DataFrame has other rows" in "".join(total.failures)


def test_a_seed_makes_the_same_questions_again() -> None:
    def generated(seed: int) -> list[str]:
        rng = random.Random(seed)
        schema = random_schema(rng)
        generator = Generator(schema, rng, NOW)
        return [*statements(schema), *(asked(generator.query()).text for _ in range(50))]

    assert generated(5) == generated(5)
    assert generated(5) != generated(6)


def test_every_kind_of_world_is_made() -> None:
    cubes = [cube for seed in range(500) for cube in random_schema(random.Random(seed)).cubes]
    facts = [fact for cube in cubes for fact in cube.facts]
    counted = Counter(
        kind
        for cube in cubes
        for fact in cube.facts
        for kind, holds in {
            "weeks alone": fact.periods == (fact.base,) and fact.base.kind is UpdatePeriod.WEEKLY,
            "weeks of days": fact in cube.coarse and fact.base.kind is UpdatePeriod.WEEKLY,
            "typed names": any(form in TYPED_FORMS[period.kind] for period, form in fact.forms),
            "a second time": fact.other_naming(fact.base) is not None,
            "no second time beside one": cube.second is not None and fact.other_naming(fact.base) is None,
            "a rollup without it": len({fact.other_naming(period) is None for period in fact.periods}) == 2,
            "a zone": cube.zone != "UTC",
            "rollups over fewer columns": bool(fact.narrow),
            "hours or days over fewer columns": any(narrow.period is fact.base for narrow in fact.narrow),
        }.items()
        if holds
    )
    assert min(counted.values()) > 5, counted
    assert len(counted) == 9, counted
    forms = {(period.kind, form) for fact in facts for period, form in (*fact.forms, *fact.second_forms)}
    declared = {(kind, form) for kind, some in TYPED_FORMS.items() for form in some}
    assert declared <= forms, declared - forms


def test_without_them_a_seed_makes_the_plain_world() -> None:
    for seed in range(60):
        for cube in random_schema(random.Random(seed), mixed=False).cubes:
            assert (cube.zone, cube.second) == ("UTC", None)
            assert all(fact.base.kind is not UpdatePeriod.WEEKLY and not fact.second_forms for fact in cube.facts)


def test_every_shape_is_made() -> None:
    for shape in WEIGHTS:
        generator = Generator(random_schema(random.Random(1)), random.Random(1), NOW, weights={shape: 1})
        assert len({asked(generator.query()).text for _ in range(10)}) == 10


def test_a_failure_shrinks_to_a_golden_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arm_range = union_arms._range

    def without_last(columns: Any, layout: Any, ordinals: OrdinalRange) -> str:
        return arm_range(columns, layout, OrdinalRange(ordinals.start, max(ordinals.start + 1, ordinals.end - 1)))

    monkeypatch.setattr(union_arms, "_range", without_last)
    tally = run_seed(4, Campaign(queries=40, weights={"aggregate": 1}), tmp_path)
    assert len(tally.failures) == 1
    assert tally.failures[0].startswith("seed 4: ")
    path = tmp_path / "shrunk_4.test"
    setup, question = read_cases(path.read_text(encoding="utf-8")).cases[-2:]
    assert setup.text.count("INSERT") < 6
    assert len(question.text) < 200
    assert not run_file(path).outcomes[-1].passed
    monkeypatch.undo()
    # Without the fault the rows are those that the file expects, in some order. Its heading is the reference's.
    last = run_file(path).outcomes[-1]
    rows, expected_rows = (Counter(text.splitlines()[2:]) for text in (last.actual, question.expected))
    assert rows == expected_rows


def test_shrinking_leaves_parts_of_a_query() -> None:
    generator = Generator(random_schema(random.Random(2)), random.Random(2), NOW, weights={"projected": 1})
    query = generator.query()
    texts = [len(asked(simplified).text) for simplified in simpler(query)]
    assert isinstance(query, Select)
    assert min(texts) < len(asked(query).text) / 2
