"""Kinds of timelines by name, as a table property gives it (seed 000: PartitionTimelineFactory)."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable
from functools import cache
from typing import cast

from rewriter.errors import AnalysisError
from rewriter.timeline.guarded_timeline import GuardedTimeline
from rewriter.timeline.timeline_trial import complaint
from rewriter.timeline.timelines import OrdinalRange, PartitionTimeline

DEFAULT = "EndsAndHoles"

_OURS = {
    "StoreAll": "rewriter.timeline.store_all_timeline:StoreAllPartitionTimeline",
    "EndsAndHoles": "rewriter.timeline.ends_and_holes_timeline:EndsAndHolesPartitionTimeline",
    "Ranges": "rewriter.timeline.ranges_timeline:RangesPartitionTimeline",
    "Bitmap": "rewriter.timeline.bitmap_timeline:BitmapPartitionTimeline",
}
_BY_NAME = {name.lower(): path for name, path in _OURS.items()}
_OUR_PACKAGE = "rewriter.timeline."
_LENS_PACKAGE = "org.apache.lens.cube.metadata.timeline."
_PATH = re.compile(r"(?P<module>[^\W\d]\w*(?:\.[^\W\d]\w*)*)[.:](?P<name>[^\W\d]\w*)")
_HINT = f"name one of {', '.join(_OURS)}, or an importable class as package.module.Class"


@cache
def timeline_class(name: str = DEFAULT) -> type[PartitionTimeline]:
    """The kind of timelines that has this name.

    A name is one of ours in any case (``StoreAll``, ``EndsAndHoles``, ``Ranges``, ``Bitmap``), alone or as Lens's class
    (``org.apache.lens.cube.metadata.timeline.EndsAndHolesPartitionTimeline``); or the place of a class of the user's,
    ``package.module.Class`` or ``package.module:Class``. Such a class is tried on two hundred operations, once.

    Naming a class of the user's runs code: its module is imported into this process. The name comes from a table
    property, so whoever may alter a table may run whatever is importable.

    Raises ``AnalysisError`` UNKNOWN_TIMELINE where there is no such class, INVALID_TIMELINE where it is no timeline.
    """
    short = name.strip().removeprefix(_LENS_PACKAGE).lower().removesuffix("partitiontimeline")
    if short in _BY_NAME:
        return _imported(name, _BY_NAME[short])
    found = _imported(name, name.strip())
    reason = complaint(found)
    if reason is not None:
        raise AnalysisError(
            f"'{name}' is no timeline: {reason}",
            condition="INVALID_TIMELINE",
            object=name,
            hint="a timeline keeps the contract of rewriter.timeline.timelines.PartitionTimeline",
        )
    return found


def make_timeline(ranges: Iterable[OrdinalRange], name: str = DEFAULT) -> PartitionTimeline:
    """A timeline of the kind that has this name, over ranges in any order.

    One of a class of the user's is guarded (``GuardedTimeline``). Raises what ``timeline_class`` raises, and
    ``OperationalError`` TIMELINE_FAILED where the class does. O(n log n).
    """
    kind = timeline_class(name)
    if kind.__module__.startswith(_OUR_PACKAGE):
        return kind(ranges)
    return cast(PartitionTimeline, GuardedTimeline(kind, ranges, f"{kind.__module__}.{kind.__qualname__}"))


def implementation(timeline: PartitionTimeline) -> str:
    """The name of a timeline's class: ours without its package, the user's with it."""
    return timeline.implementation if isinstance(timeline, GuardedTimeline) else type(timeline).__name__


def _imported(name: str, path: str) -> type[PartitionTimeline]:
    """What the path names, which is not yet known to be a timeline."""
    match = _PATH.fullmatch(path)
    if match is None:
        raise _unknown(name, "it is no name of ours and no place of a class")
    try:
        module = importlib.import_module(match["module"])
    except (Exception, SystemExit) as error:  # what a foreign module raises as it is loaded may be anything
        raise _unknown(name, f"importing '{match['module']}' fails: {error}") from error
    found: type[PartitionTimeline] | None = getattr(module, match["name"], None)
    if found is None:
        raise _unknown(name, f"the module '{match['module']}' has no '{match['name']}'")
    return found


def _unknown(name: str, reason: str) -> AnalysisError:
    return AnalysisError(
        f"there is no timeline '{name}': {reason}", condition="UNKNOWN_TIMELINE", object=name, hint=_HINT
    )
