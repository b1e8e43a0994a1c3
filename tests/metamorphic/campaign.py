"""Runs random pairs of queries over a world, and compares their rows.

``python -m tests.metamorphic.campaign --engine duckdb --pairs 100000`` runs the long form, and prints the figures.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from rewriter.errors import Error
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.exec.engine import Engine
from rewriter.exec.spark.engine import SparkEngine
from rewriter.session import Session

from .pairs import Pair, Query, makers
from .worlds import WORLDS, World

#: Conditions by which a query is refused before it returns a row. Any other error is a failure.
REFUSALS = frozenset(
    ("DUCKDB_UNSUPPORTED", "MISSING_PARTITIONS", "UNSUPPORTED", "AMBIGUOUS_COUNT", "UNALIGNED_TIME_RANGE", "ZONED_TIME")
)
#: What ``_is_left_out`` is counted as.
_NEVER_NULL = "IN of a subquery, which is never NULL on Spark"
#: Pairs between two changes of a world's tables.
_STEADY = 60


@dataclass
class Figures:
    """The number of pairs that were compared, by kind, and of those that were refused, by condition."""

    compared: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    of_kind_refused: Counter[str] = field(default_factory=Counter)

    def add(self, other: Figures) -> None:
        """Adds the figures of another world."""
        for name in ("compared", "refused", "of_kind_refused"):
            getattr(self, name).update(getattr(other, name))


def _is_left_out(kind: str, pair: Pair, engine: str | Engine) -> bool:
    """Tests whether Spark breaks the rule of a pair: it computes FALSE where ``x IN (SELECT …)`` is NULL, below AND, OR
    and NOT, so that three parts by such a condition lack rows. DuckDB refuses NOT and IS NULL of it.
    """
    is_spark = engine == "spark" or isinstance(engine, SparkEngine)
    return is_spark and kind.endswith("_in_thirds") and " IN (SELECT " in pair.right.text


class Different(AssertionError):
    """The two queries of a pair returned different rows."""


def run(directory: Path, engine: str | Engine, name: str, seed: int, pairs: int) -> Figures:
    """Returns the figures of so many pairs over a world.

    Raises ``Different`` at the first pair that differs, with both queries, the seed and some of the rows. A pair of
    which a query is refused by name is counted and left: no rows are no wrong rows.
    """
    rng, figures = random.Random(seed), Figures()
    world = WORLDS[name](directory, engine, seed)
    with world.session, Session(directory, engine) as base:
        for number in range(pairs):
            if number % _STEADY == _STEADY - 1:
                world.change(rng)
                world.session.execute(f"SET rewriter.cover_cost = {rng.choice(('partitions', 'bytes', 'work'))}")
            relation = rng.choice(world.relations)
            make = rng.choice(makers(relation))
            pair = make(rng, relation)
            if _is_left_out(make.__name__, pair, engine):
                figures.refused[_NEVER_NULL] += 1
                figures.of_kind_refused[make.__name__] += 1
                continue
            if pair.right.base:
                base.execute(f"SET rewriter.periods = {relation.base}")
            try:
                left, right = (_rows(world, base, query, directory, engine) for query in (pair.left, pair.right))
            except Error as error:
                if error.condition not in REFUSALS:
                    raise Different(_shown(name, seed, number, make.__name__, pair, [str(error)], [])) from error
                figures.refused[error.condition] += 1
                figures.of_kind_refused[make.__name__] += 1
                continue
            figures.compared[make.__name__] += 1
            if not _equal(left, right, pair.keys):
                raise Different(_shown(name, seed, number, make.__name__, pair, left, right))
    return figures


def _rows(world: World, base: Session, query: Query, directory: Path, engine: str | Engine) -> list[tuple[Any, ...]]:
    if query.fresh:
        with Session(directory, engine) as session:
            return [_plain(row) for row in session.execute(query.text, query.parameters or None).fetch()]
    session = base if query.base else world.session
    return [_plain(row) for row in session.execute(query.text, query.parameters or None).fetch()]


def _plain(value: Any) -> Any:
    """Returns a value that is equal to another one if Spark has no way to tell them apart, and can be hashed."""
    if isinstance(value, tuple | list):
        return tuple(_plain(each) for each in value)
    if isinstance(value, Mapping):
        return tuple(sorted((key, _plain(each)) for key, each in value.items()))
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    return value


def _equal(left: list[tuple[Any, ...]], right: list[tuple[Any, ...]], keys: int | None) -> bool:
    if keys is None:
        return Counter(left) == Counter(right)
    numbers = {row[:keys]: row[keys:] for row in right}
    return len(left) == len(right) == len(numbers) and all(
        row[:keys] in numbers and all(map(_close, row[keys:], numbers[row[:keys]])) for row in left
    )


def _close(left: Any, right: Any) -> bool:
    """Returns whether two averages are equal but for the rounding of a DECIMAL with four more digits."""
    if isinstance(left, float | int | Decimal) and isinstance(right, float | int | Decimal):
        return math.isclose(float(left), float(right), rel_tol=1e-9, abs_tol=1e-6)
    return bool(left == right)


def _shown(name: str, seed: int, number: int, kind: str, pair: Pair, left: list[Any], right: list[Any]) -> str:
    only_left, only_right = Counter(left) - Counter(right), Counter(right) - Counter(left)
    return "\n".join(
        (
            f"world {name}, seed {seed}, pair {number}, {kind}",
            f"  {pair.left.text}  {pair.left.parameters or ''}",
            f"  {pair.right.text}{'  (base periods)' if pair.right.base else ''}",
            f"  only the first returns:  {list(only_left.items())[:4]}",
            f"  only the second returns: {list(only_right.items())[:4]}",
        )
    )


def main() -> None:
    """Runs worlds of one seed after another until there are enough pairs, or no time is left."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--engine", default="duckdb")
    parser.add_argument("--pairs", type=int, default=100_000)
    parser.add_argument("--of-a-world", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--world", choices=list(WORLDS))
    parser.add_argument("--go-on", action="store_true", help="print pairs that differ, and go on with the next world")
    chosen = parser.parse_args()
    began, seed, total = time.monotonic(), chosen.seed, Figures()
    names = [chosen.world] if chosen.world else list(WORLDS)
    engine: Any = chosen.engine
    if engine == "duckdb":
        engine = DuckDBEngine()
    elif engine == "spark":
        engine = SparkEngine("local[2]", {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"})
    while sum(total.compared.values()) < chosen.pairs and time.monotonic() - began < chosen.seconds:
        with tempfile.TemporaryDirectory() as directory:
            try:
                total.add(run(Path(directory) / "w", engine, names[seed % len(names)], seed, chosen.of_a_world))
            except Different as different:
                if not chosen.go_on:
                    raise
                print(different, flush=True)
        seed += 1
        done, seconds = sum(total.compared.values()), time.monotonic() - began
        print(f"{done} pairs compared after {seconds:.0f} s", file=sys.stderr, flush=True)
    seconds = time.monotonic() - began
    print(f"{sum(total.compared.values())} pairs compared, {sum(total.refused.values())} refused, {seconds:.0f} s")
    for kind, count in sorted(total.compared.items()):
        print(f"  {kind}: {count}, {total.of_kind_refused[kind]} refused")
    print(dict(total.refused))


if __name__ == "__main__":
    main()
