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
    directory = folder / str(seed)
    directory.mkdir()
    rng = random.Random(seed)
    history = begin(random_schema(rng, mixed=mixed, numeric=numeric), directory / "warehouse")
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
    reference = Reference(directory)
    reference.load(history)
    return Prepared(history, reference)


class Sound:
    """Histories made without any fault, by seed; each is made once. ``mixed`` ones are of schemas with everything."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: dict[tuple[int, bool], Prepared] = {}

    def of(self, fault: Fault) -> list[Prepared]:
        """Those that the fault is asked about; none if its histories are made with the fault."""
        if fault.steps is not None:
            return []
        return [self._history(seed, fault.mixed) for seed in (fault.seeds if fault.mixed else SEEDS)]

    def _history(self, seed: int, mixed: bool) -> Prepared:
        if (seed, mixed) not in self._made:
            folder = self._folder / ("mixed" if mixed else "plain")
            folder.mkdir(exist_ok=True)
            self._made[seed, mixed] = _prepared(seed, folder, mixed=mixed)
        return self._made[seed, mixed]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Sound:
    return Sound(tmp_path_factory.mktemp("planted"))


def _histories(fault: Fault, sound: list[Prepared], folder: Path) -> Iterator[Prepared]:
    """One history for each question."""
    if fault.steps is None:
        yield from sound * (QUESTIONS // len(sound))
        return
    seeds = fault.seeds or SEEDS[:OWN_HISTORIES]
    for seed in seeds:
        prepared = _prepared(seed, folder, fault.steps, mixed=fault.mixed, numeric=fault.numeric)
        yield from [prepared] * (QUESTIONS // len(seeds))


@pytest.mark.share(20)
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_planted_fault_is_found(fault: Fault, sound: Sound, tmp_path: Path) -> None:
    rng = random.Random(fault.name)
    made_before = sound.of(fault)
    with pytest.MonkeyPatch.context() as patch:
        fault.plant(patch)
        for number, prepared in enumerate(_histories(fault, made_before, tmp_path)):
            generator = Generator(
                prepared.history.schema,
                rng,
                NOW,
                fault.additive,
                fault.single,
                fault.strange,
                fault.time,
                weights=fault.shapes,
            )
            try:
                if fault.states:
                    check_states(prepared.history)
                check(prepared.history, prepared.reference, Question(generator.query()), prepared.history.connection)
            except Wrong as wrong:
                # A fault that no longer fits the code it is planted in breaks it, which any question finds.
                if wrong.kind.startswith(("TypeError", "AttributeError")):
                    raise
                print(f"found after {number + 1} questions: {wrong.kind}")
                return
    pytest.fail("no question found the fault")
