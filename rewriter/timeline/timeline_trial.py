"""The trial of a timeline that somebody else wrote: it must answer as a plain set of ordinals does."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from rewriter.timeline import runs
from rewriter.timeline.timelines import OrdinalRange, PartitionTimeline

_STEPS = 200
_SPACE = range(-12, 12)
_EVERYTHING = OrdinalRange(-50, 50)
_MEMBERS = [name for name in vars(PartitionTimeline) if not name.startswith("_")]


def complaint(kind: Any) -> str | None:
    """Why the class does not keep the contract of ``PartitionTimeline``, in words; ``None`` where it does.

    Two hundred operations, always the same; after each all questions are asked, and asked again of a copy that is
    read from the properties. It runs the class's code and takes some ten milliseconds.
    """
    if not isinstance(kind, type):
        return "it is no class"
    absent = [name for name in _MEMBERS if not hasattr(kind, name)]
    if absent:
        return f"it lacks {', '.join(absent)}"
    try:
        return _disagreement(kind)
    except Exception as error:  # what a foreign class raises may be anything
        return f"it raises {type(error).__name__}: {error}"


def _disagreement(kind: Any) -> str | None:
    if kind().init_from_properties({}) is not False:
        return "init_from_properties({}) is not False"
    random = Random(0)
    given = [_range(random), _range(random)]
    timeline, model = kind(given), _members(given)
    done = f"made of {given}"
    for name, argument, touched in _history(random):
        copy = kind()
        if copy.init_from_properties(timeline.to_properties()) is not True:
            return f"{done}, it does not read its own properties"
        window = _range(random)
        reason = _wrong_answer(timeline, model, window) or _wrong_answer(copy, model, window)
        if reason is not None:
            return f"{done}, {reason}"
        changed = touched - model if name.startswith("add") else touched & model
        answer = getattr(timeline, name)(argument)
        done = f"after {name}({argument})"
        if answer != len(changed):
            return f"{done} answers {answer}, not {len(changed)}"
        model ^= changed
    return None


def _wrong_answer(timeline: Any, model: set[int], window: OrdinalRange) -> str | None:
    """The first question that is answered wrongly, with both answers."""
    inside = _members([window])
    questions = {
        "first": (timeline.first, min(model, default=None)),
        "latest": (timeline.latest, max(model, default=None)),
        "count": (timeline.count, len(model)),
        "is_empty": (timeline.is_empty, not model),
        "is_consistent()": (timeline.is_consistent(), True),
        "the existing": ({ordinal for ordinal in _SPACE if timeline.exists(ordinal)}, model & set(_SPACE)),
        "ranges()": (timeline.ranges(), runs.ranges(*runs.of_ordinals(model))),
        f"covered({window})": (timeline.covered(window), runs.ranges(*runs.of_ordinals(model & inside))),
        f"missing({window})": (timeline.missing(window), runs.ranges(*runs.of_ordinals(inside - model))),
    }
    wrong = (f"{question}: {given}, not {right}" for question, (given, right) in questions.items() if given != right)
    return next(wrong, None)


def _history(random: Random) -> Iterator[tuple[str, object, set[int]]]:
    """What to call, with what, and the ordinals that this concerns. What is absent is dropped, what is there added."""
    yield "drop_range", _EVERYTHING, _members([_EVERYTHING])
    yield "drop", 3, {3}
    yield "drop_all", [3, 4], {3, 4}
    for _ in range(_STEPS):
        name = random.choice(["add", "drop", "add_range", "drop_range", "add_all", "drop_all"])
        if name.endswith("_range"):
            ordinals = _range(random)
            yield name, ordinals, _members([ordinals])
        elif name.endswith("_all"):
            batch = random.choices(_SPACE, k=random.randrange(8))
            yield name, batch, set(batch)
        else:
            ordinal = random.choice(_SPACE)
            yield name, ordinal, {ordinal}


def _range(random: Random) -> OrdinalRange:
    start = random.choice(_SPACE)
    return OrdinalRange(start, start + random.randint(1, 8))


def _members(ranges: list[OrdinalRange]) -> set[int]:
    return {ordinal for each in ranges for ordinal in range(each.start, each.end)}
