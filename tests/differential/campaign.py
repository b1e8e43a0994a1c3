"""Runs many queries over many histories, counts the results, and shrinks and keeps failures."""

from __future__ import annotations

import os
import random
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from rewriter.exec.engine import Engine

from .caution import causes
from .checking import Answer, Question, Wrong, base_period, check, check_states
from .generator import WEIGHTS, Generator
from .histories import NOW, History, begin, load, step
from .queries import asked
from .random_schemas import random_schema
from .reference import Reference
from .shrinking import Case, golden_text, shrunk


@dataclass(frozen=True)
class Campaign:
    """The number of queries of each history, of rounds with steps between them, and the shapes of queries.

    With ``frames``, the rows of each query are those of ``connection.sql(query).toPandas()``, too.
    """

    queries: int
    rounds: int = 4
    steps: int = 6
    weights: Mapping[str, int] = field(default_factory=lambda: dict(WEIGHTS))
    shrink: bool = True
    numeric: bool = False
    frames: bool = False


@dataclass
class Tally:
    """The counted results of queries. ``failures`` are texts for a person, each with its seed."""

    asked: int = 0
    complete: int = 0
    incomplete: int = 0
    rolled: int = 0
    narrow: int = 0
    refusals: Counter[str] = field(default_factory=Counter)
    caution: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    def note(self, history: History, question: Question, answer: Answer) -> None:
        """Counts one result."""
        self.asked += 1
        self.caution.update(causes(history.schema, question.query, answer))
        if answer.refusal:
            self.refusals[answer.refusal] += 1
            return
        self.complete += not answer.missing
        self.incomplete += answer.missing
        cubes = {cube.name: cube for cube in history.schema.cubes}
        tables = {narrow.table for cube in cubes.values() for fact in cube.facts for narrow in fact.narrow}
        self.narrow += any(part.table in tables for some in answer.plans for plan in some for part in plan.parts)
        mentions = [mention for _, mention in asked(question.query).mentions]
        self.rolled += any(
            part.period.kind is not base_period(cubes[plan.cube], mention, [plan]).kind
            for mention, some in zip(mentions, answer.plans, strict=True)
            for plan in some
            for part in plan.parts
        )

    def add(self, more: Tally) -> None:
        """Adds up two tallies."""
        self.asked += more.asked
        self.complete += more.complete
        self.incomplete += more.incomplete
        self.rolled += more.rolled
        self.narrow += more.narrow
        self.refusals += more.refusals
        self.caution += more.caution
        self.failures += more.failures

    @property
    def refused(self) -> int:
        """Returns the number of refused queries that could have had a result."""
        return sum(count for refusal, count in self.refusals.items() if not Answer(refusal).right)

    def report(self) -> str:
        """Returns all counts, with refusals by their messages."""
        lines = [
            f"{self.asked} asked: {self.complete} complete, {self.incomplete} partial, {self.refused} refused; "
            f"{self.rolled} answered from rollups at least in part, {self.narrow} from rollups over fewer columns"
        ]
        kinds: Counter[str] = Counter()
        for refusal, count in self.refusals.items():
            kinds[refusal.split("'")[0][:100]] += count
        return "\n".join([*lines, *(f"{count:6} {kind}" for kind, count in kinds.most_common())])


def run(seeds: Iterable[int], campaign: Campaign, folder: Path, processes: int | None = None) -> Tally:
    """Runs all seeds and leaves golden files of failures in ``folder``.

    Two ``processes`` share the seeds. One is enough in a process of ``pytest -n``, which has other processes beside it.
    """
    total = Tally()
    if (processes or (1 if "PYTEST_XDIST_WORKER" in os.environ else 2)) == 1:
        for seed in seeds:
            total.add(run_seed(seed, campaign, folder))
        return total
    with ProcessPoolExecutor(processes or 2, mp_context=get_context("spawn")) as pool:
        for tally in pool.map(partial(run_seed, campaign=campaign, folder=folder), seeds):
            total.add(tally)
    return total


def run_seed(
    seed: int, campaign: Campaign, folder: Path, engine: Engine | None = None, catalog: str | None = None
) -> Tally:
    """Runs one history with its queries and returns their results, which the seed determines.

    With ``engine`` the queries run on it, over the warehouse that DuckDB wrote. ``catalog`` is the URL of its catalog.
    """
    directory = folder / f"seed_{seed}"
    directory.mkdir(parents=True)
    rng, tally = random.Random(seed), Tally()
    history = begin(random_schema(rng, numeric=campaign.numeric), directory / "warehouse", catalog)
    reference = Reference(directory)
    asking = history.open(engine) if engine is not None else history.connection
    try:
        load(history, rng, complete=0.7)
        for _ in range(campaign.rounds):
            for _ in range(campaign.steps):
                step(history, rng)
            check_states(history)
            reference.load(history)
            generator = Generator(history.schema, rng, NOW, weights=campaign.weights)
            for _ in range(campaign.queries // campaign.rounds):
                question = Question(generator.query(), rng.randrange(10**6) if rng.random() < 0.25 else None)
                try:
                    tally.note(history, question, check(history, reference, question, asking, frames=campaign.frames))
                except Wrong as wrong:
                    tally.failures.append(_failure(seed, history, reference, question, wrong, campaign, folder))
                    return tally
    except Exception as error:
        error.add_note(f"seed {seed}")
        raise
    finally:
        history.connection.close()
        shutil.rmtree(directory)
    return tally


def _failure(
    seed: int,
    history: History,
    reference: Reference,
    question: Question,
    wrong: Wrong,
    campaign: Campaign,
    folder: Path,
) -> str:
    """Describes a failure: the seed, the small case, and the path of its golden file."""
    if not campaign.shrink:
        return f"seed {seed}: {wrong}"
    case = shrunk(Case(history.schema, tuple(history.steps), question), wrong.kind, folder / f"shrinking_{seed}")
    path = folder / f"shrunk_{seed}.test"
    path.write_text(golden_text(case, f"seed {seed}: {wrong.kind}", folder), encoding="utf-8")
    return f"seed {seed}: {wrong}\n\nshrunk, in {path}:\n{path.read_text(encoding='utf-8')}"
