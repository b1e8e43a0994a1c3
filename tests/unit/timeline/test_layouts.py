"""Time layouts: round trips, strict reading, and what is refused."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewriter.errors import AnalysisError, DataError
from rewriter.timeline.civil import MAX_INSTANT, MIN_INSTANT
from rewriter.timeline.layouts import TimeLayout, default_pattern
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.time_bounds import parse_instant

DAILY, HOURLY, WEEKLY = UpdatePeriod.DAILY, UpdatePeriod.HOURLY, UpdatePeriod.WEEKLY
SPLIT_HOURS = TimeLayout.of(HOURLY, [("ds", "yyyy-MM-dd"), ("hr", "HH")])
FOUR_COLUMNS = TimeLayout.of(HOURLY, [("y", "yyyy"), ("m", "MM"), ("d", "dd"), ("h", "'h'HH")])
COMPACT = TimeLayout.of(UpdatePeriod.MINUTELY, [("ts", "yyyyMMdd'T'HHmm")])
DEFAULTS = [TimeLayout.of(period, [("dt", None)]) for period in UpdatePeriod]
LAYOUTS = [*DEFAULTS, SPLIT_HOURS, FOUR_COLUMNS, COMPACT]

instants = st.integers(MIN_INSTANT, MAX_INSTANT - 1)


@pytest.mark.parametrize(
    ("period", "value"),
    [
        (UpdatePeriod.YEARLY, "2015"),
        (UpdatePeriod.QUARTERLY, "2015-Q1"),
        (UpdatePeriod.MONTHLY, "2015-01"),
        (UpdatePeriod.WEEKLY, "2015-W05"),
        (UpdatePeriod.DAILY, "2015-01-29"),
        (UpdatePeriod.HOURLY, "2015-01-29-06"),
        (UpdatePeriod.MINUTELY, "2015-01-29-06-07"),
    ],
)
def test_default_layouts(period: UpdatePeriod, value: str) -> None:
    layout = TimeLayout.of(period, [("dt", None)])
    assert layout == TimeLayout.of(period, [("dt", default_pattern(period))])
    assert layout.values(period.ordinal(parse_instant("2015-01-29T06:07"))) == (value,)
    assert layout.ordinal((value,)) == period.ordinal(parse_instant("2015-01-29T06:07"))


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: f"{layout.period.name}-{len(layout.parts)}")
@given(instant=instants, another=instants)
def test_values_are_read_back_match_the_regex_and_are_ordered_as_time(
    layout: TimeLayout, instant: int, another: int
) -> None:
    ordinal, later = sorted(map(layout.period.ordinal, (instant, another)))
    values = layout.values(ordinal)
    assert layout.ordinal(values) == ordinal
    assert len(values) == len(layout.columns)
    assert all(re.search(layout.regex(i), value) for i, value in enumerate(values))
    assert layout.text_ordered
    assert (values < layout.values(later)) == (ordinal < later)


def test_several_columns() -> None:
    ordinal = HOURLY.ordinal(parse_instant("2015-01-29T06"))
    assert SPLIT_HOURS.columns == ("ds", "hr")
    assert SPLIT_HOURS.values(ordinal) == ("2015-01-29", "06")
    assert FOUR_COLUMNS.values(ordinal) == ("2015", "01", "29", "h06")
    assert SPLIT_HOURS.ordinal(["2015-01-29", "06"]) == FOUR_COLUMNS.ordinal(["2015", "01", "29", "h06"]) == ordinal


@pytest.mark.parametrize(
    ("date", "week"),
    [
        ("2015-12-28", "2015-W53"),
        ("2016-01-03", "2015-W53"),
        ("2016-01-04", "2016-W01"),
        ("2014-12-29", "2015-W01"),
        ("2018-12-31", "2019-W01"),
    ],
)
def test_weeks_are_iso_weeks(date: str, week: str) -> None:
    ordinal = WEEKLY.ordinal(parse_instant(date))
    layout = TimeLayout.of(WEEKLY, [("wk", None)])
    assert layout.values(ordinal) == (week,)
    assert layout.ordinal([week]) == ordinal


@pytest.mark.parametrize(
    ("period", "value"),
    [
        (UpdatePeriod.MONTHLY, "2015-13"),
        (UpdatePeriod.MONTHLY, "2015-00"),
        (UpdatePeriod.MONTHLY, "2015-1"),
        (UpdatePeriod.MONTHLY, "2015-01\n"),
        (UpdatePeriod.MONTHLY, " 2015-01"),
        (UpdatePeriod.MONTHLY, "2015/01"),
        (UpdatePeriod.MONTHLY, "２０１５-01"),
        (UpdatePeriod.MONTHLY, "2015-01-01"),
        (UpdatePeriod.YEARLY, "0000"),
        (UpdatePeriod.YEARLY, "10000"),
        (UpdatePeriod.YEARLY, "+015"),
        (UpdatePeriod.QUARTERLY, "2015-Q0"),
        (UpdatePeriod.QUARTERLY, "2015-Q5"),
        (UpdatePeriod.QUARTERLY, "2015-q1"),
        (UpdatePeriod.WEEKLY, "2016-W53"),
        (UpdatePeriod.WEEKLY, "2015-W54"),
        (UpdatePeriod.WEEKLY, "2015-W00"),
        (UpdatePeriod.WEEKLY, "0000-W01"),
        (UpdatePeriod.DAILY, "2015-02-29"),
        (UpdatePeriod.DAILY, "2015-01-32"),
        (UpdatePeriod.DAILY, ""),
        (UpdatePeriod.HOURLY, "2015-01-29-24"),
        (UpdatePeriod.MINUTELY, "2015-01-29-06-60"),
        (UpdatePeriod.DAILY, None),
    ],
)
def test_what_is_no_value_is_refused_with_column_value_and_pattern(period: UpdatePeriod, value: str | None) -> None:
    layout = TimeLayout.of(period, [("dt", None)])
    with pytest.raises(DataError) as caught:
        layout.ordinal([value])
    assert caught.value.condition == "INVALID_TIME_PARTITION"
    assert caught.value.object == "dt"
    assert ("NULL" if value is None else f"'{value}'") in caught.value.message
    assert default_pattern(period) in caught.value.message


def test_an_error_names_the_column_that_is_wrong() -> None:
    with pytest.raises(DataError, match=r"\[INVALID_TIME_PARTITION\] hr = '24' .* pattern HH: hour 24 is not in 0–23"):
        SPLIT_HOURS.ordinal(["2015-01-29", "24"])
    with pytest.raises(DataError, match=r"d = '29' .* pattern dd: day 29 is not in 1–28"):
        FOUR_COLUMNS.ordinal(["2015", "02", "29", "h06"])


@pytest.mark.parametrize("values", [[], ["2015-01-29"], ["2015-01-29", "06", "00"]])
def test_the_number_of_values_must_be_that_of_the_columns(values: list[str]) -> None:
    with pytest.raises(DataError, match="INVALID_TIME_PARTITION"):
        SPLIT_HOURS.ordinal(values)


@pytest.mark.parametrize("instant", [MIN_INSTANT - 1, MAX_INSTANT])
@pytest.mark.parametrize("layout", [x for x in DEFAULTS if x.period is not WEEKLY], ids=lambda x: x.period.name)
def test_periods_outside_the_years_have_no_values(layout: TimeLayout, instant: int) -> None:
    with pytest.raises(DataError, match="outside 1 to 9999"):
        layout.values(layout.period.ordinal(instant))


def test_the_regex_tells_default_layouts_apart() -> None:
    for layout in DEFAULTS:
        value = layout.values(layout.period.ordinal(parse_instant("2015-01-29")))[0]
        assert [candidate.period for candidate in DEFAULTS if re.search(candidate.regex(0), value)] == [layout.period]
    assert DEFAULTS[UpdatePeriod.MONTHLY - 1].regex(0) == "^[0-9]{4}-[0-9]{2}$"


def test_the_regex_takes_literals_literally() -> None:
    layout = TimeLayout.of(UpdatePeriod.YEARLY, [("y", "'a.b(c)[d]^\\|'yyyy'it''s'.")])
    value = layout.values(45)[0]
    assert value == "a.b(c)[d]^\\|2015it's."
    assert re.search(layout.regex(0), value)
    assert not re.search(layout.regex(0), value.replace("a.b", "axb"))
    assert layout.ordinal([value]) == 45


@pytest.mark.parametrize(
    ("period", "columns"),
    [
        (HOURLY, [("dt", "yyyy-MM-dd")]),
        (HOURLY, [("dt", "yyyy-dd-HH")]),
        (HOURLY, [("dt", "yyyy-MM-dd-HH-mm")]),
        (HOURLY, [("dt", "yyyy-MM-dd-HH"), ("hr", "HH")]),
        (HOURLY, [("dt", "YYYY-MM-dd-HH")]),
        (HOURLY, [("dt", "yyyy-MM-dd-hh")]),
        (HOURLY, [("dt", "yyyy-MM-dd"), ("DT", "HH")]),
        (HOURLY, [("dt", None), ("hr", "HH")]),
        (HOURLY, []),
        (DAILY, [("dt", "yyyy-M-d")]),
        (DAILY, [("dt", "yyyy-MM-dd'T")]),
        (DAILY, [("dt", "yyyy-MM-dd0")]),
        (DAILY, [("dt", "yyyy-MM-dd\n")]),
        (DAILY, [("dt", "yyyy-MM-dd'\n'")]),
        (DAILY, [("dt", "yyyy-MM-dd"), ("kind", "'daily'")]),
        (DAILY, [("dt", "yyyy-MM-ddé")]),
        (DAILY, [("dt", "")]),
        (WEEKLY, [("dt", "yyyy-'W'ww")]),
        (UpdatePeriod.MONTHLY, [("dt", "yyyy-'Q'q-MM")]),
    ],
)
def test_a_layout_must_name_its_period_exactly(period: UpdatePeriod, columns: list[tuple[str, str | None]]) -> None:
    with pytest.raises(AnalysisError) as caught:
        TimeLayout.of(period, columns)
    assert caught.value.condition == "INVALID_TIME_LAYOUT"
    assert caught.value.hint


@pytest.mark.parametrize(("pattern", "unknown"), [("yyyy-MM-dd-hh", "hh"), ("yyyy-M-d", "M"), ("yyyy-MM-dd0", "0")])
def test_an_error_names_the_text_without_a_meaning(pattern: str, unknown: str) -> None:
    with pytest.raises(AnalysisError, match="has no meaning in the time pattern") as caught:
        TimeLayout.of(HOURLY, [("dt", pattern)])
    assert caught.value.object == unknown


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: f"{layout.period.name}-{len(layout.parts)}")
def test_layouts_survive_json(layout: TimeLayout) -> None:
    assert TimeLayout.from_json(json.loads(json.dumps(layout.to_json()))) == layout


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"period": "DAILY"},
        {"period": 3, "parts": []},
        {"period": "DAILY", "parts": []},
        {"period": "DAILY", "parts": ["yyyy-MM-dd"]},
        {"period": "DAILY", "parts": [{"column": "dt"}]},
        {"period": "DAILY", "parts": [{"column": "dt", "type": "int"}]},
        {"period": "DAILY", "parts": [{"column": "dt", "pattern": "yyyy-MM-dd", "type": []}]},
        {"period": "DAILY", "parts": [{"column": "dt", "pattern": "yyyy-MM-dd", "type": "date"}]},
        {"period": "DAILY", "parts": [{"column": "dt", "pattern": 20, "type": "int"}]},
        {"period": "DAILY", "parts": [{"column": "dt", "pattern": "yyyy"}]},
    ],
)
def test_other_data_is_no_layout(data: dict[str, object]) -> None:
    with pytest.raises(AnalysisError, match="INVALID_TIME_LAYOUT"):
        TimeLayout.from_json(data)
