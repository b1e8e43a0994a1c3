"""The differential test can fail: every fault planted in the planner or the catalog is found by the same generator."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import pytest

from .checking import Question, Wrong, check, check_states
from .derivations import MarkComplete
from .faults import FAULTS, Fault
from .generator import Generator
from .histories import NOW, STEPS, History, begin, load, step, whole_refresh
from .random_schemas import random_schema
from .reference import Reference

#: Schemas of many kinds: with and without a COUNT measure, one fact and two, shared tables, several base periods.
SEEDS = (510, 538, 515, 552, 500, 501, 507, 509)
#: How many questions a fault may take at most to be found, and over how many histories of its own.
QUESTIONS, OWN_HISTORIES = 320, 4
ALL_STEPS = MappingProxyType(STEPS)


@dataclass(frozen=True)
class Prepared:
    """A history and the reference that has its rows."""

    history: History
    reference: Reference


def _prepared(
    seed: int, folder: Path, steps: Mapping[str, int] = ALL_STEPS, *, mixed: bool = False, numeric: bool = False
) -> Prepared:
    place = folder / str(seed)
    place.mkdir()
    rng = random.Random(seed)
    history = begin(random_schema(rng, mixed=mixed, numeric=numeric), place / "warehouse")
    load(history, rng)
    for _ in range(15):
        step(history, rng, steps)
    if seed % 2 and steps is ALL_STEPS:
        # Rollups that serve find what is wrong with their use; outdated ones, what is wrong with their state.
        for cube in history.schema.cubes:
            if seed % 4 == 1:
                history.take(MarkComplete(cube, range(cube.first, cube.first + cube.count)))
            for fact in cube.facts:
                for period in fact.periods[1:]:
                    history.take(whole_refresh(cube, fact, period))
    reference = Reference(place)
    reference.load(history)
    return Prepared(history, reference)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> list[Prepared]:
    """Histories made without any fault."""
    folder = tmp_path_factory.mktemp("planted")
    return [_prepared(seed, folder) for seed in SEEDS]


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Prepared]:
    """The same of schemas that have all there may be, by seed; made when asked for."""
    folder = tmp_path_factory.mktemp("mixed")
    seeds = {seed for fault in FAULTS if fault.mixed and fault.steps is None for seed in fault.seeds}
    return {seed: _prepared(seed, folder, mixed=True) for seed in sorted(seeds)}


def _made(fault: Fault, sound: list[Prepared], mixed: Mapping[int, Prepared], folder: Path) -> Iterator[Prepared]:
    if fault.mixed and fault.steps is None:
        yield from [mixed[seed] for seed in fault.seeds] * (QUESTIONS // len(fault.seeds))
        return
    if fault.steps is None:
        yield from sound * (QUESTIONS // len(sound))
        return
    seeds = fault.seeds or SEEDS[:OWN_HISTORIES]
    for seed in seeds:
        made = _prepared(seed, folder, fault.steps, mixed=fault.mixed, numeric=fault.numeric)
        yield from [made] * (QUESTIONS // len(seeds))


@pytest.mark.share(12)
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_planted_fault_is_found(
    fault: Fault, sound: list[Prepared], mixed: Mapping[int, Prepared], tmp_path: Path
) -> None:
    rng = random.Random(fault.name)
    with pytest.MonkeyPatch.context() as patch:
        fault.plant(patch)
        for number, made in enumerate(_made(fault, sound, mixed, tmp_path)):
            generator = Generator(
                made.history.schema, rng, NOW, fault.shapes, fault.additive, fault.single, fault.strange, fault.time
            )
            try:
                if fault.states:
                    check_states(made.history)
                check(made.history, made.reference, Question(generator.query()), made.history.connection)
            except Wrong as wrong:
                # A fault that no longer fits the code it is planted in breaks it, which any question finds.
                if wrong.kind.startswith(("TypeError", "AttributeError")):
                    raise
                print(f"found after {number + 1} questions: {wrong.kind}")
                return
    pytest.fail("no question found the fault")
