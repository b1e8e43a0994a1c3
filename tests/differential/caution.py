"""How often rollups serve where a person would say that they may: a measure of needless caution.

python -m tests.differential.caution [histories] [queries of each]
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from rewriter.planner.model.plan import ReferencePlan

from .checking import Answer, base_period, candidates
from .queries import Cube, Expectation, Query, asked, expectations
from .schemas import CubeSchema, Schema

SERVED = "served by rollups"


def causes(schema: Schema, query: Query, answer: Answer) -> Iterator[str]:
    """For each use of a cube that a person would call additive, and that has rollups of fitting periods: ``SERVED``,
    or why not. A refused query says so.
    """
    mentions = [cube for _, cube in asked(query).mentions]
    expected = expectations(query)
    for number, mention in enumerate(mentions):
        cube = next(one for one in schema.cubes if one.name == mention.name)
        plans = answer.plans[number] if answer.plans else ()
        for index, use in enumerate(expected.get(number, ())):
            plan = plans[index] if len(plans) == len(expected[number]) else plans[0] if plans else None
            if not use.additive or not _has_rollups(cube, mention, use, plan):
                continue
            if plan is None:
                yield from [f"refused: {answer.refusal}"] if answer.refusal else ()
            elif any(period.kind > base_period(cube, mention, [plan]).kind for period in plan.periods):
                yield SERVED
            else:
                yield plan.reasons[0].kind.value if plan.reasons else plan.causes[0].kind.name


def _has_rollups(cube: CubeSchema, mention: Cube, use: Expectation, plan: ReferencePlan | None) -> bool:
    plans = [plan] if plan else []
    base = base_period(cube, mention, plans)
    return any(
        period > base and all(period.nests_in(unit) for unit in use.units)
        for fact in candidates(cube, mention, plans)
        for period in fact.periods
    )


def report(found: Counter[str]) -> str:
    """The share that is served, and the causes of the rest, most frequent first."""
    answered = sum(count for cause, count in found.items() if not cause.startswith("refused"))
    lines = [f"{found[SERVED]} of {answered} additive uses of a cube were {SERVED} ({share(found):.1%})"]
    lines += [f"{count:6} {cause}" for cause, count in found.most_common() if cause != SERVED]
    return "\n".join(lines)


def share(found: Counter[str]) -> float:
    """The share of additive uses of a cube that read rollups."""
    answered = sum(count for cause, count in found.items() if not cause.startswith("refused"))
    return found[SERVED] / answered if answered else 0.0


def main(histories: int, queries: int) -> None:
    from .campaign import Campaign, run

    with tempfile.TemporaryDirectory() as folder:
        print(report(run(range(histories), Campaign(queries), Path(folder)).caution))


if __name__ == "__main__":
    main(*(int(word) for word in (sys.argv[1:3] or ("10", "100"))))
