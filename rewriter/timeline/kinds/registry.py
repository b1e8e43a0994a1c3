"""Kinds of timelines by name, as a table property gives it (seed 000: PartitionTimelineFactory).

A name from the catalog is only looked up: it is a built-in name, or one that this installation registers by a call or
by an entry point of an installed package. No name is ever imported.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from random import Random
from typing import TYPE_CHECKING, Any, cast

from rewriter.errors import AnalysisError, OperationalError
from rewriter.timeline import runs
from rewriter.timeline.kinds.stored_ranges import RangesPartitionTimeline
from rewriter.timeline.timeline import OrdinalRange, PartitionTimeline

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


DEFAULT = "EndsAndHoles"
#: The entry point group in which an installed package registers its classes. Each entry point has the catalog's name.
GROUP = "rewriter.timelines"

_BUILT_IN = {
    "StoreAll": "rewriter.timeline.kinds.store_all:StoreAllPartitionTimeline",
    "EndsAndHoles": "rewriter.timeline.kinds.ends_and_holes:EndsAndHolesPartitionTimeline",
    "Ranges": "rewriter.timeline.kinds.stored_ranges:RangesPartitionTimeline",
    "Bitmap": "rewriter.timeline.kinds.bitmap:BitmapPartitionTimeline",
}
_PATHS_BY_NAME = {name.lower(): path for name, path in _BUILT_IN.items()}
_PATHS_BY_CLASS_NAME = {path.replace(":", "."): path for path in _BUILT_IN.values()}
# Module paths of earlier releases, which catalogs may hold.
_PATHS_BY_CLASS_NAME |= {
    "rewriter.timeline.store_all_timeline.StoreAllPartitionTimeline": _BUILT_IN["StoreAll"],
    "rewriter.timeline.ends_and_holes_timeline.EndsAndHolesPartitionTimeline": _BUILT_IN["EndsAndHoles"],
    "rewriter.timeline.ranges_timeline.RangesPartitionTimeline": _BUILT_IN["Ranges"],
    "rewriter.timeline.bitmap_timeline.BitmapPartitionTimeline": _BUILT_IN["Bitmap"],
}
_LENS_PACKAGE = "org.apache.lens.cube.metadata.timeline."
_HINT = (
    f"Name one of {', '.join(_BUILT_IN)}, or a class that is registered here: by "
    "rewriter.register_timeline(name, class), "
    f"or by an installed package in the entry point group {GROUP}."
)

_registered: dict[str, type[PartitionTimeline]] = {}


def register_timeline(name: str, kind: type[PartitionTimeline]) -> None:
    """Registers a class of timelines in this process under a name that SET TIMELINE and table properties then accept.

    The catalog stores the name alone, so every process that reads the table must register it: by this call, or for all
    processes by an entry point of an installed package in the group ``rewriter.timelines``, whose name is the one for
    the catalog. A name is any text without leading or trailing spaces, and case matters. ``package.module.Class`` and
    ``package.module:Class``, which older catalogs hold, are one name. A later call with the same name replaces the
    class for timelines that are made after it.

    The class must fulfill the contract of ``rewriter.timeline.timeline.PartitionTimeline``. It is first checked on two
    hundred operations, which take some ten milliseconds.

    Raises ``AnalysisError`` INVALID_TIMELINE if the class breaks the contract, or the name is empty or built in.

    Examples:
        >>> from rewriter.timeline.kinds.stored_ranges import RangesPartitionTimeline
        >>> class Logged(RangesPartitionTimeline):
        ...     pass
        >>> register_timeline("logged", Logged)

        Then ``ALTER TABLE days SET TIMELINE DAILY FOR dt TO 'logged'`` uses it.
    """
    plain = _normalized(name)
    if not plain or _built_in_path(plain) is not None:
        raise _invalid(name, "the name is reserved by rewriter" if plain else "the name is empty")
    _registered[plain] = _checked(name, kind)


def timeline_class(name: str = DEFAULT) -> type[PartitionTimeline]:
    """Returns the class of timelines with this name.

    A built-in name is accepted in any case (``StoreAll``, ``EndsAndHoles``, ``Ranges``, ``Bitmap``), alone or as Lens's
    class (``org.apache.lens.cube.metadata.timeline.EndsAndHolesPartitionTimeline``). Other names were given to
    ``register_timeline``, or are the names of entry points in ``GROUP``. An entry point's class is loaded and checked
    once.

    Raises ``AnalysisError`` UNKNOWN_TIMELINE if nothing is registered under the name or its entry point cannot be
    loaded, and INVALID_TIMELINE if the registered object is not a timeline class. A name that is neither built in nor
    registered by a call is searched in the installed packages: some milliseconds, once for each name that is found.

    >>> timeline_class("ranges").__name__
    'RangesPartitionTimeline'
    """
    plain = _normalized(name)
    path = _built_in_path(plain)
    if path is not None:
        return _built_in_class(path)
    return _registered.get(plain) or _installed_class(plain)


def make_timeline(ranges: Iterable[OrdinalRange], name: str = DEFAULT) -> PartitionTimeline:
    """Returns a timeline of the kind with this name, over ranges in any order.

    A timeline of a user's class is guarded (``GuardedTimeline``). Raises the errors of ``timeline_class``, and
    ``OperationalError`` TIMELINE_FAILED if the class fails. O(n log n).
    """
    kind = timeline_class(name)
    if _built_in_path(_normalized(name)) is not None:
        return kind(ranges)
    return cast(PartitionTimeline, GuardedTimeline(kind, ranges, f"{kind.__module__}.{kind.__qualname__}"))


def implementation(timeline: PartitionTimeline) -> str:
    """Returns the name of a timeline's class: a built-in class without its package, a user's class with it."""
    return timeline.implementation if isinstance(timeline, GuardedTimeline) else type(timeline).__name__


def _normalized(name: str) -> str:
    return name.strip().replace(":", ".")


def _built_in_path(plain: str) -> str | None:
    """Returns the location of the built-in class with this name; ``None`` for other names."""
    short = plain.removeprefix(_LENS_PACKAGE).lower().removesuffix("partitiontimeline")
    return _PATHS_BY_NAME.get(short) or _PATHS_BY_CLASS_NAME.get(plain)


@cache
def _built_in_class(path: str) -> type[PartitionTimeline]:
    module, _, name = path.partition(":")
    kind: type[PartitionTimeline] = getattr(importlib.import_module(module), name)
    return kind


@cache
def _installed_class(plain: str) -> type[PartitionTimeline]:
    """Returns the class of the entry point with this name. An error is not cached, because a package may be installed
    later.
    """
    from importlib.metadata import entry_points

    points = {point.value: point for point in entry_points(group=GROUP) if _normalized(point.name) == plain}
    if not points:
        raise _unknown(plain, "no class is registered under this name here")
    if len(points) > 1:
        raise _unknown(plain, f"several packages register it: {', '.join(sorted(points))}")
    return _checked(plain, _loaded(plain, *points.values()))


def _loaded(plain: str, point: EntryPoint) -> object:
    try:
        return point.load()
    except (Exception, SystemExit) as error:  # a module may raise any exception while it is loaded
        raise _unknown(plain, f"loading its entry point '{point.value}' fails: {error}") from error


def _checked(name: str, kind: object) -> type[PartitionTimeline]:
    reason = complaint(kind)
    if reason is not None:
        raise _invalid(name, reason)
    return cast(type[PartitionTimeline], kind)


def _invalid(name: str, reason: str) -> AnalysisError:
    return AnalysisError(
        f"'{name}' is not a timeline: {reason}",
        condition="INVALID_TIMELINE",
        object=name,
        hint="A timeline must implement rewriter.timeline.timeline.PartitionTimeline.",
    )


def _unknown(name: str, reason: str) -> AnalysisError:
    return AnalysisError(
        f"there is no timeline '{name}': {reason}", condition="UNKNOWN_TIMELINE", object=name, hint=_HINT
    )


# The conformance check of a user's timeline class: it must give the same results as a plain set of ordinals.

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


# A wrapper for a timeline of a user's class: failures name the class, and wrong results never reach a query.


class GuardedTimeline:
    """A ``PartitionTimeline`` whose every result is compared with the result of plain ranges.

    The conformance check of a class (``conformance_check``) is short and uses small ordinals only. An exception of the
    class, or a result that differs, becomes ``OperationalError`` TIMELINE_FAILED, which names the class. A call costs
    O(ranges in the result) more than the class takes.
    """

    def __init__(self, kind: Callable[..., Any], ranges: Iterable[OrdinalRange], implementation: str) -> None:
        """``implementation`` is the class's full name, for error messages and for display."""
        self.implementation = implementation
        self._reference = RangesPartitionTimeline(ranges)
        self._delegate = self._guarded("__init__", kind, self._reference.ranges())

    def __getattr__(self, member: str) -> Any:
        if member.startswith("_"):
            raise AttributeError(member)
        expected = getattr(self._reference, member)
        actual = self._guarded(member, getattr, self._delegate, member)
        if callable(expected):
            return partial(self._compared, member, expected, actual)
        return self._same(member, expected, actual)

    def _compared(
        self, member: str, expected: Callable[..., Any], actual: Callable[..., Any], *arguments: object
    ) -> Any:
        return self._same(member, expected(*arguments), self._guarded(member, actual, *arguments))

    def _same(self, member: str, expected: Any, actual: Any) -> Any:
        if actual != expected:
            raise self._failed(member, f"returned {_short_text(actual)}, not {_short_text(expected)}")
        return expected

    def _guarded(self, member: str, call: Callable[..., Any], *arguments: object) -> Any:
        try:
            return call(*arguments)
        except Exception as error:  # a user's class may raise any exception
            raise self._failed(member, f"raises {type(error).__name__}: {error}") from error

    def _failed(self, member: str, failure: str) -> OperationalError:
        return OperationalError(
            f"the timeline {self.implementation} fails: {member} {failure}",
            condition="TIMELINE_FAILED",
            object=self.implementation,
            hint="ALTER TABLE … SET TIMELINE … TO 'EndsAndHoles' keeps the same partitions with another class.",
        )


def _short_text(result: object) -> str:
    text = repr(result)
    return text if len(text) <= 80 else f"{text[:80]}…"
