"""Kinds of timelines by name, as a table property gives it (seed 000: PartitionTimelineFactory).

A name from the catalog is only looked up: it is a built-in name, or one that this installation registers by a call or
by an entry point of an installed package. No name is ever imported.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, cast

from rewriter.errors import AnalysisError
from rewriter.timeline.kinds.conformance_check import complaint
from rewriter.timeline.kinds.guarded import GuardedTimeline
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
    ``register_timeline``, or are those of entry points in ``GROUP``. An entry point's class is loaded and checked once.

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
