"""Runs random lives of a cube, one after the other, and counts what they did."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from rewriter.exec.engine import Engine

from .world import World


@dataclass
class Tally:
    """Counts of histories: partitions that retention dropped, queries with the right number, and queries without one.
    For some of these (``doubtful``) the model is not sure.
    """

    histories: int = 0
    dropped: int = 0
    right: int = 0
    refused: int = 0
    doubtful: int = 0
    steps: Counter[str] = field(default_factory=Counter)


def run(seeds: Iterable[int], folder: Path, engine: Engine, steps: int = 10, often: Collection[str] = ()) -> Tally:
    """Runs the histories of these seeds, in which the steps named in ``often`` are frequent. An error has the seed and
    the statements as notes.
    """
    tally = Tally()
    for seed in seeds:
        live(seed, folder, engine, steps, tally, often)
    return tally


def live(seed: int, folder: Path, engine: Engine, steps: int, tally: Tally, often: Collection[str] = ()) -> None:
    """Runs one history: after each step the fixed set of queries is compared with the model."""
    warehouse = folder / f"life-{seed}"
    world = World(warehouse, engine, random.Random(seed), often)
    try:
        for _ in range(steps):
            tally.steps[world.step()] += 1
            world.ask()
    except BaseException as error:
        error.add_note(f"seed {seed}\n" + ";\n".join(world.log))
        raise
    finally:
        world.close()
        shutil.rmtree(warehouse)
    tally.histories += 1
    tally.dropped += world.dropped
    tally.right += world.right
    tally.refused += world.refused
    tally.doubtful += world.doubtful
