"""The layouts that names, types and values of columns have."""

from __future__ import annotations

import pytest

from rewriter.timeline.inferred_layouts import inferred_layout
from rewriter.timeline.periods import UpdatePeriod


@pytest.mark.share(1)
@pytest.mark.parametrize(
    ("columns", "values", "period", "declared"),
    [
        ("ds date", None, None, "DAILY ds"),
        ("ds timestamp", None, None, None),
        ("ds timestamp", ["2024-05-31 00:00:00"], None, None),
        ("ds timestamp", ["2024-05-31 00:00:00"], UpdatePeriod.DAILY, "DAILY ds"),
        ("ds string", None, None, None),
        ("ds string", None, UpdatePeriod.MONTHLY, "MONTHLY ds = 'yyyy-MM'"),
        ("ds string", ["202405"], None, "MONTHLY ds = 'yyyyMM'"),
        ("ds string", ["20240531"], None, "DAILY ds = 'yyyyMMdd'"),
        ("ds string", ["2024-05"], None, "MONTHLY ds = 'yyyy-MM'"),
        ("ds string", ["2024-13"], None, None),
        ("ds string", ["20240531"], UpdatePeriod.MONTHLY, None),
        ("year int; month int", None, UpdatePeriod.MONTHLY, "MONTHLY year = 'yyyy', month = 'MM'"),
        ("year int; month int", ["2024", "5"], None, "MONTHLY year = 'yyyy', month = 'MM'"),
        ("ds date; hr int", ["2024-05-31", "6"], None, "HOURLY ds, hr = 'HH'"),
        ("ds date; hr int", ["2024-05-31", "600"], None, None),
    ],
)
def test_a_layout_is_the_one_that_reads_the_values(
    columns: str, values: list[str] | None, period: UpdatePeriod | None, declared: str | None
) -> None:
    types = [(column.split()[0], column.split()[1]) for column in columns.split("; ")]
    layout = inferred_layout(types, values, period)
    parts = ", ".join(part.declared for part in layout.parts) if layout else ""
    assert (f"{layout.period.name} {parts}" if layout else None) == declared
