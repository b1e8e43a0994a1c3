"""Messages for COUNT over a cube that declares COUNT measures and does not say which of them counts its events."""

from __future__ import annotations

from rewriter.catalog.model.objects import Cube, Measure
from rewriter.grammar.unparse import quote_name


def ambiguity(cube: Cube) -> str:
    """Explains in a sentence why the cube's count is ambiguous (``count_is_ambiguous``)."""
    candidates = cube.event_counters
    if candidates:
        names = " and ".join(measure.name for measure in candidates)
        return f"Each of {names} may count the events of the cube {cube.name}."
    counters = ", ".join(f"{measure.name} counts the values of {_counted(cube, measure)}" for measure in cube.counters)
    return f"No measure of the cube {cube.name} is known to count its events: {counters}."


def declaration_hint(cube: Cube) -> str:
    """Returns the declaration that says which measure counts events, as a hint."""
    measure = (cube.event_counters or cube.counters)[0]
    not_null = " NOT NULL" if measure.not_null else ""
    declared = f"{quote_name(measure.name)} {measure.type.upper()} MEASURE COUNT EVENTS{not_null}"
    return f"Mark the measure for COUNT(*) in CREATE CUBE, as in: {declared}."


def _counted(cube: Cube, counter: Measure) -> str:
    """Returns the nullable measures whose values a measure counts."""
    names_by_table = (
        measure
        for measure in cube.measures
        if measure.counted_by and measure.counted_by.lower() == counter.name.lower()
    )
    return " and ".join(measure.name for measure in names_by_table if not measure.not_null)
