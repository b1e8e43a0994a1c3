"""What the model calls proven is fresh in the warehouse, and what it doubts is not."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from rewriter.timeline.periods import UpdatePeriod

from .checking import check_states
from .derivations import Derive
from .histories import History, begin
from .periods import midnight, period
from .schemas import Column, CubeSchema, FactSchema, Schema
from .steps import RollUp, Write

DAY, MONTH = period(UpdatePeriod.DAILY), period(UpdatePeriod.MONTHLY)
JANUARY, FEBRUARY = (MONTH.ordinal(midnight("UTC", date(2013, month, 1))) for month in (1, 2))
COLUMNS = (Column("carrier", "string"), Column("flights", "bigint", "COUNT"))
FACT = FactSchema("f1", (DAY, MONTH), tuple(column.name for column in COLUMNS))


def _history(folder: Path, fact: FactSchema) -> History:
    """Days of two months, each with a row."""
    first = DAY.ordinal(MONTH.start(JANUARY))
    cube = CubeSchema("flights", "departed", COLUMNS, (fact,), first, 59)
    history = begin(Schema((cube,), (Column("carrier", "string"),), (("x",),)), folder / "warehouse")
    rows = tuple((day, (("x", 1),)) for day in range(first, first + 59))
    history.take(Write(cube, rows, overwrite=False, dynamic=True))
    return history


def _fresh(history: History) -> set[int]:
    """The months that the model calls proven, once the warehouse agrees."""
    check_states(history)
    (model,) = history.models.values()
    return {month for _, _, month in model.fresh}


@pytest.mark.parametrize(
    ("dynamic", "window", "proven"),
    [
        (False, (None, None), {JANUARY, FEBRUARY}),
        (True, (None, None), {JANUARY, FEBRUARY}),
        (False, (DAY.start(DAY.ordinal(MONTH.start(JANUARY)) + 14), None), {FEBRUARY}),
        (False, (MONTH.start(FEBRUARY), None), {FEBRUARY}),
        (False, (None, MONTH.start(FEBRUARY)), {JANUARY}),
        # One statement reads what lies outside for all that it writes.
        (True, (MONTH.start(FEBRUARY), None), set()),
    ],
)
def test_what_is_read_outside_of_a_window_proves_nothing(
    tmp_path: Path, dynamic: bool, window: tuple[int | None, int | None], proven: set[int]
) -> None:
    fact = replace(FACT, window=window)
    history = _history(tmp_path, fact)
    (cube,) = history.schema.cubes
    history.take(RollUp(cube, fact, DAY, MONTH, (JANUARY, FEBRUARY), dynamic=dynamic))
    assert _fresh(history) == proven


@pytest.mark.parametrize("way", ["table", "view", "union"])
def test_whatever_the_way_to_what_lies_outside(tmp_path: Path, way: str) -> None:
    fact = replace(FACT, window=(MONTH.start(FEBRUARY), None))
    history = _history(tmp_path, fact)
    (cube,) = history.schema.cubes
    for month in (JANUARY, FEBRUARY):
        history.take(Derive(cube, fact, MONTH, month, way))
    assert _fresh(history) == {FEBRUARY}
