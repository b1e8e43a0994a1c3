"""Measures how often rollups serve a use of a cube that a person would call additive.

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
    """Returns ``SERVED`` or the reason against it for each use of a cube that a person would call additive and that has
    rollups of fitting periods. A refused query is one of the reasons.
    """
    mentions = [cube for _, cube in asked(query).mentions]
    expected = expectations(query)
    for number, mention in enumerate(mentions):
        cube = next(cube for cube in schema.cubes if cube.name == mention.name)
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


def report(causes: Counter[str]) -> str:
    """Returns the share that is served, and the causes of the rest, most frequent first."""
    answered = sum(count for cause, count in causes.items() if not cause.startswith("refused"))
    lines = [f"{causes[SERVED]} of {answered} additive uses of a cube were {SERVED} ({share(causes):.1%})"]
    lines += [f"{count:6} {cause}" for cause, count in causes.most_common() if cause != SERVED]
    return "\n".join(lines)


def share(causes: Counter[str]) -> float:
    """Returns the share of additive uses of a cube that read rollups."""
    answered = sum(count for cause, count in causes.items() if not cause.startswith("refused"))
    return causes[SERVED] / answered if answered else 0.0


def main(histories: int, queries: int) -> None:
    from .campaign import Campaign, run

    with tempfile.TemporaryDirectory() as folder:
        print(report(run(range(histories), Campaign(queries), Path(folder)).caution))


if __name__ == "__main__":
    main(*(int(word) for word in (sys.argv[1:3] or ("10", "100"))))
