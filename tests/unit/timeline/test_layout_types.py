"""Layouts of every type and order, by brute force: all periods of some years, and values that name none."""

from __future__ import annotations

import json
import random

import pytest

from rewriter.catalog.keys.encoding import encode
from rewriter.catalog.keys.values import require_canonical
from rewriter.catalog.model.objects import Column
from rewriter.errors import AnalysisError, DataError
from rewriter.timeline.layouts import TimeLayout, check_distinguishable
from rewriter.timeline.periods import UpdatePeriod as P
from rewriter.timeline.time_bounds import parse_instant


def layout(period: P, text: str) -> TimeLayout:
    """Returns the layout ``ds date; hr int HH``: columns with their types and, if they have one, patterns."""
    pairs, types = [], {}
    for declared in text.split("; "):
        column, type, *pattern = declared.split(" ", 2)
        pairs.append((column, pattern[0] if pattern else None))
        types[column] = type
    return TimeLayout.of(period, pairs, types)


ORDERED = [
    layout(P.MINUTELY, "ts timestamp"),
    layout(P.MINUTELY, "dt bigint"),
    layout(P.MINUTELY, "ds date; hm smallint HHmm"),
    layout(P.HOURLY, "ts timestamp"),
    layout(P.HOURLY, "dt bigint"),
    layout(P.HOURLY, "ds date; hr tinyint HH"),
    layout(P.HOURLY, "ds string yyyy-MM-dd; hr int HH"),
    layout(P.HOURLY, "ds date; hr string 'h'HH"),
    layout(P.HOURLY, "y int yyyy; m int MM; d int dd; h int HH"),
    layout(P.HOURLY, "hr int HH; ds date"),
    layout(P.DAILY, "ds date"),
    layout(P.DAILY, "dt int"),
    layout(P.DAILY, "y smallint yyyy; md smallint MMdd"),
    layout(P.DAILY, "md string MM-dd; y string yyyy"),
    layout(P.WEEKLY, "ds date"),
    layout(P.WEEKLY, "ts timestamp"),
    layout(P.WEEKLY, "wk int"),
    layout(P.MONTHLY, "ds date"),
    layout(P.MONTHLY, "m int"),
    layout(P.QUARTERLY, "ds date"),
    layout(P.QUARTERLY, "q int"),
    layout(P.YEARLY, "ds date"),
    layout(P.YEARLY, "ts timestamp"),
    layout(P.YEARLY, "y smallint"),
]
UNORDERED = [
    layout(P.MINUTELY, "dt string mm:HH dd.MM.yyyy"),
    layout(P.HOURLY, "dt string HH 'on' dd-MM-yyyy"),
    layout(P.HOURLY, "dt bigint HHddMMyyyy"),
    layout(P.HOURLY, "k int ddHHMM; y int yyyy"),
    layout(P.HOURLY, "hy string HH-yyyy; md int MMdd"),
    layout(P.DAILY, "dt string dd-MM-yyyy"),
    layout(P.DAILY, "my string MM/yyyy; d int dd"),
    layout(P.WEEKLY, "wk string ww.YYYY"),
    layout(P.QUARTERLY, "q int qyyyy"),
]
NAMES = {id(layout): f"{layout.period.name}-" + "-".join(f"{p.type}-{p.pattern}" for p in layout.parts)
         for layout in [*ORDERED, *UNORDERED]}  # fmt: skip


def columns(layout: TimeLayout) -> list[Column]:
    return [Column(part.column, part.type) for part in layout.parts]


def ordinals(period: P) -> range:
    """Returns two leap years and the time around them; for minutes the days around a new year."""
    first, last = ("2015-12-30", "2016-01-03") if period is P.MINUTELY else ("2011-06-01", "2017-02-01")
    if period is P.HOURLY:
        first, last = "2015-11-01", "2016-03-10"
    return range(period.ordinal(parse_instant(first)), period.ordinal(parse_instant(last)))


@pytest.mark.parametrize("layout", [*ORDERED, *UNORDERED], ids=lambda layout: NAMES[id(layout)])
def test_every_period_has_one_canonical_value_and_is_read_back(layout: TimeLayout) -> None:
    seen = set()
    for ordinal in ordinals(layout.period):
        values = layout.values(ordinal)
        require_canonical(columns(layout), values)
        assert layout.ordinal(values) == ordinal
        seen.add(values)
    assert len(seen) == len(ordinals(layout.period))
    assert TimeLayout.from_json(json.loads(json.dumps(layout.to_json()))) == layout


@pytest.mark.parametrize("layout", [*ORDERED, *UNORDERED], ids=lambda layout: NAMES[id(layout)])
def test_the_order_of_keys_is_that_of_time_where_the_layout_says_so_and_only_there(layout: TimeLayout) -> None:
    types = [column.type for column in columns(layout)]
    keys = [encode(1, types, layout.values(ordinal)) for ordinal in ordinals(layout.period)]
    assert (keys == sorted(keys)) == layout.text_ordered == (layout in ORDERED)


@pytest.mark.parametrize("layout", [*ORDERED, *UNORDERED], ids=lambda layout: NAMES[id(layout)])
def test_what_is_read_is_what_is_written(layout: TimeLayout) -> None:
    rng = random.Random(NAMES[id(layout)])
    written = [layout.values(ordinal) for ordinal in ordinals(layout.period)]
    refused = []
    for _ in range(4000):
        values = list(rng.choice(written))
        position = rng.randrange(len(values))
        at = rng.randrange(len(values[position]) + 1)
        new = rng.choice(["", *"0123456789", "00", "-", " ", "+", "٣"])
        values[position] = values[position][:at] + new + values[position][at + rng.randrange(2) :]
        try:
            ordinal = layout.ordinal(values)
        except DataError as error:
            refused.append(error)
        else:
            assert layout.values(ordinal) == tuple(values)
    assert len(refused) > 400
    assert {error.condition for error in refused} == {"INVALID_TIME_PARTITION"}
    assert all(error.object in layout.columns and error.hint for error in refused)


@pytest.mark.parametrize(
    ("layout", "values", "said"),
    [
        (layout(P.MONTHLY, "ds date"), ["2015-02-02"], "ds = '2015-02-02' is not a MONTHLY partition of the type DATE"),
        (layout(P.WEEKLY, "ds date"), ["2015-02-03"], "no WEEKLY period starts then"),
        (layout(P.YEARLY, "ds date"), ["2015-02-01"], "no YEARLY period starts then"),
        (layout(P.HOURLY, "ts timestamp"), ["2015-02-01 06:30:00"], "no HOURLY period starts then"),
        (layout(P.HOURLY, "ts timestamp"), ["2015-02-01 06:00:01"], "of the type TIMESTAMP"),
        (layout(P.HOURLY, "ts timestamp"), ["2015-02-01 06:00:00.5"], "of the type TIMESTAMP"),
        (layout(P.DAILY, "dt int"), ["201502"], "dt = '201502' is not a DAILY partition of the pattern yyyyMMdd"),
        (layout(P.DAILY, "dt int"), ["20150229"], "day 29 is not in 1–28"),
        (layout(P.HOURLY, "ds date; hr int HH"), ["2015-02-01", "24"], "hr = '24' .* hour 24 is not in 0–23"),
        (layout(P.HOURLY, "ds date; hr int HH"), ["2015-02-01", "-1"], "hr = '-1' is not a HOURLY"),
        (layout(P.HOURLY, "ds date; hr int HH"), [None, "1"], "ds = NULL is not a HOURLY"),
        (layout(P.DAILY, "dt string dd-MM-yyyy"), ["29-02-2015"], "day 29 is not in 1–28"),
    ],
)  # fmt: skip
def test_values_that_name_no_period(layout: TimeLayout, values: list[str | None], said: str) -> None:
    with pytest.raises(DataError, match=said) as caught:
        layout.ordinal(values)
    assert "looks like '" in str(caught.value.hint)


def test_numbers_that_begin_with_the_year_have_all_digits() -> None:
    days = layout(P.DAILY, "dt int")
    assert days.values(P.DAILY.ordinal(parse_instant("1000-01-01"))) == ("10000101",)
    with pytest.raises(DataError, match="outside 1000 to 9999"):
        days.values(P.DAILY.ordinal(parse_instant("0999-12-31")))
    with pytest.raises(DataError):
        days.ordinal(["9991231"])


@pytest.mark.parametrize(
    ("period", "text", "said"),
    [
        (P.DAILY, "ds date yyyy/MM/dd", "'ds' is a DATE, which cannot have a pattern"),
        (P.HOURLY, "ts timestamp yyyy-MM-dd", "'ts' is a TIMESTAMP, which cannot have a pattern"),
        (P.HOURLY, "ds date", "do not name a HOURLY period exactly"),
        (P.HOURLY, "ts timestamp; hr int HH", "do not name a HOURLY period exactly"),
        (P.DAILY, "ds date; y int yyyy", "do not name a DAILY period exactly"),
        (P.DAILY, "dt int yyyy-MM-dd", "'-' in the pattern 'yyyy-MM-dd' cannot be part of a number"),
        (P.HOURLY, "dt int", "'dt' has the type int, which cannot hold all numbers of 10 digits"),
        (P.YEARLY, "y tinyint", "cannot hold all numbers of 4 digits"),
        (P.HOURLY, "ds date; hr int", "'hr' has no pattern"),
        (P.DAILY, "dt boolean", "'dt' has the type boolean, which cannot represent a time"),
        (P.DAILY, "dt string dd-MM", "do not name a DAILY period exactly"),
    ],
)
def test_layouts_that_are_refused(period: P, text: str, said: str) -> None:
    with pytest.raises(AnalysisError, match=said) as caught:
        layout(period, text)
    assert caught.value.condition == "INVALID_TIME_LAYOUT"
    assert caught.value.hint


@pytest.mark.parametrize(
    ("type", "periods", "distinct"),
    [
        ("string", list(P), True),
        ("date", [P.DAILY, P.MONTHLY], False),
        ("timestamp", [P.HOURLY, P.DAILY], False),
        ("bigint", [P.MINUTELY, P.HOURLY, P.DAILY, P.MONTHLY, P.QUARTERLY, P.YEARLY], True),
        ("int", [P.WEEKLY, P.MONTHLY], False),
    ],
)
def test_periods_are_told_apart_by_their_values(type: str, periods: list[P], distinct: bool) -> None:
    layouts = [layout(period, f"dt {type}") for period in periods]
    values = [layout.values(ordinal) for layout in layouts for ordinal in ordinals(layout.period)[:3000]]
    starts_alike = {layout.values(layout.period.ordinal(parse_instant("2015-01-01"))) for layout in layouts}
    if distinct:
        check_distinguishable(layouts)
        assert len(set(values)) == len(values)
        assert len(starts_alike) == len(layouts)
    else:
        with pytest.raises(AnalysisError, match="AMBIGUOUS_TIME_LAYOUT"):
            check_distinguishable(layouts)
