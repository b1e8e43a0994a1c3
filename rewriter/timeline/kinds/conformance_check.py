"""The conformance check of a user's timeline class: it must give the same results as a plain set of ordinals."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from rewriter.timeline import runs
from rewriter.timeline.timeline import OrdinalRange, PartitionTimeline

_STEPS = 200
_ORDINALS = range(-12, 12)
_EVERYTHING = OrdinalRange(-50, 50)
_MEMBERS = [name for name in vars(PartitionTimeline) if not name.startswith("_")]


def complaint(kind: Any) -> str | None:
    """Returns the reason why the class breaks the contract of ``PartitionTimeline``, in words; ``None`` if it fulfills
    it.

    The check runs two hundred operations, always the same. After each operation it calls every query method, also on a
    copy that is read from the properties. It runs the class's code and takes some ten milliseconds.
    """
    if not isinstance(kind, type):
        return "it is not a class"
    absent = [name for name in _MEMBERS if not hasattr(kind, name)]
    if absent:
        return f"it lacks {', '.join(absent)}"
    try:
        return _difference(kind)
    except Exception as error:  # a user's class may raise any exception
        return f"it raises {type(error).__name__}: {error}"


def _difference(kind: Any) -> str | None:
    if kind().init_from_properties({}) is not False:
        return "init_from_properties({}) is not False"
    random = Random(0)
    ranges = [_range(random), _range(random)]
    timeline, model = kind(ranges), _members(ranges)
    situation = f"made of {ranges}"
    for name, argument, affected in _history(random):
        copy = kind()
        if copy.init_from_properties(timeline.to_properties()) is not True:
            return f"{situation}, it does not read its own properties"
        window = _range(random)
        reason = _wrong_result(timeline, model, window) or _wrong_result(copy, model, window)
        if reason is not None:
            return f"{situation}, {reason}"
        changed = affected - model if name.startswith("add") else affected & model
        result = getattr(timeline, name)(argument)
        situation = f"after {name}({argument})"
        if result != len(changed):
            return f"{situation} returned {result}, not {len(changed)}"
        model ^= changed
    return None


def _wrong_result(timeline: Any, model: set[int], window: OrdinalRange) -> str | None:
    """Returns the first query with a wrong result, with both results."""
    window_ordinals = _members([window])
    results_by_query = {
        "first": (timeline.first, min(model, default=None)),
        "latest": (timeline.latest, max(model, default=None)),
        "count": (timeline.count, len(model)),
        "is_empty": (timeline.is_empty, not model),
        "is_consistent()": (timeline.is_consistent(), True),
        "the existing": ({ordinal for ordinal in _ORDINALS if timeline.exists(ordinal)}, model & set(_ORDINALS)),
        "ranges()": (timeline.ranges(), runs.ranges(*runs.of_ordinals(model))),
        f"covered({window})": (timeline.covered(window), runs.ranges(*runs.of_ordinals(model & window_ordinals))),
        f"missing({window})": (timeline.missing(window), runs.ranges(*runs.of_ordinals(window_ordinals - model))),
    }
    differences = (
        f"{query}: {result}, not {expected}"
        for query, (result, expected) in results_by_query.items()
        if result != expected
    )
    return next(differences, None)


def _history(random: Random) -> Iterator[tuple[str, object, set[int]]]:
    """Returns the method to call, its argument, and the ordinals that the call concerns. Absent ordinals are dropped,
    too, and existing ones are added.
    """
    yield "drop_range", _EVERYTHING, _members([_EVERYTHING])
    yield "drop", 3, {3}
    yield "drop_all", [3, 4], {3, 4}
    for _ in range(_STEPS):
        name = random.choice(["add", "drop", "add_range", "drop_range", "add_all", "drop_all"])
        if name.endswith("_range"):
            ordinals = _range(random)
            yield name, ordinals, _members([ordinals])
        elif name.endswith("_all"):
            batch = random.choices(_ORDINALS, k=random.randrange(8))
            yield name, batch, set(batch)
        else:
            ordinal = random.choice(_ORDINALS)
            yield name, ordinal, {ordinal}


def _range(random: Random) -> OrdinalRange:
    start = random.choice(_ORDINALS)
    return OrdinalRange(start, start + random.randint(1, 8))


def _members(ranges: list[OrdinalRange]) -> set[int]:
    return {ordinal for ordinals in ranges for ordinal in range(ordinals.start, ordinals.end)}
