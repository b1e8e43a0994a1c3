"""The content that a partition was computed from, besides the base of its own fact: its proof rests on that.

A rollup that was computed from a TRUSTED rollup, or from an accepted one, is as right as that one. A base partition
that was computed from another fact, or from a cube, is as new as the base of that fact. Its row names the table, the
period and the time that it rests on. The commit of a change there, and of a change of the declaration, judges it again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from rewriter.timeline.ranges import RangeSet, TimeRange


class OriginKind(StrEnum):
    """The reason why content that a partition rests on counts as right."""

    #: Its owner declares the table TRUSTED in its fact.
    TRUSTED = "trusted"
    #: CHECK FACT … ACCEPT has compared it with the base.
    ACCEPTED = "accepted"
    #: It was copied from the base of another fact, and is as new as that.
    COPIED = "copied"


class Origin(NamedTuple):
    """Partitions of one table and update period, in a time, on which other content rests.

    ``table`` is its id, ``period`` the number of the update period. ``as_of`` is the number of the commit up to which
    the changes of these partitions are included, or ``LOST``. ``start`` and ``end`` are microseconds since 1970; an
    empty time (``start == end``) rests on the declaration alone. ``accepted`` is the commit of the acceptance.
    """

    kind: OriginKind
    table: int
    period: int
    as_of: int
    start: int
    end: int
    accepted: int | None = None


Origins = tuple[Origin, ...]

#: The ``as_of`` of an origin that had changed when its table left its fact.
LOST = -1
#: The most origins that a partition keeps.
MOST = 100


def stored_origins(origins: Origins) -> str | None:
    """Returns the JSON text of origins that ``origins_of`` reads; ``None`` for none."""
    if not origins:
        return None
    return json.dumps(
        [
            {"kind": origin.kind.value, **{name: value for name, value in origin._asdict().items() if name != "kind"}}
            for origin in origins
        ]
    )


def origins_of(data: Any) -> Origins:
    """Returns the origins of decoded JSON. Raises ``ValueError`` and ``TypeError``."""
    origins = tuple(Origin(**{**item, "kind": OriginKind(item["kind"])}) for item in data)
    numbers = [number for origin in origins for number in origin[1:6]]
    if not all(type(number) is int for number in numbers):
        raise ValueError("its origins have a value that is not a number")
    return origins


def naming(table_id: int) -> str:
    """Returns the pattern of LIKE for the stored texts that name a table."""
    return f'%"table": {table_id},%'


def merged_origins(origins: Iterable[Origin]) -> Origins:
    """Returns the same origins; origins that are equal but for their times become maximal times.

    Where that leaves more than ``MOST``, each is the time between the first and the last, as of the oldest commit.
    """
    by_word: dict[Origin, list[Origin]] = {}
    for origin in origins:
        by_word.setdefault(origin._replace(start=0, end=0), []).append(origin)
    merged = [
        word._replace(start=time.start, end=time.end)
        for word, group in by_word.items()
        for time in RangeSet(TimeRange(origin.start, origin.end) for origin in group if origin.start < origin.end)
    ]
    merged += [word for word, group in by_word.items() if all(origin.start == origin.end for origin in group)]
    if len(merged) <= MOST:
        return tuple(sorted(merged, key=_order))
    hulls: dict[Origin, list[Origin]] = {}
    for origin in merged:
        hulls.setdefault(origin._replace(start=0, end=0, as_of=0), []).append(origin)
    return tuple(sorted(map(_hull, hulls.values()), key=_order))


def _hull(group: Sequence[Origin]) -> Origin:
    times = [origin for origin in group if origin.start < origin.end] or group[:1]
    start, end = min(origin.start for origin in times), max(origin.end for origin in times)
    return group[0]._replace(as_of=min(origin.as_of for origin in group), start=start, end=end)


def _order(origin: Origin) -> tuple[object, ...]:
    return (*origin[:6], origin.accepted or 0)


def within_time(origins: Origins, start: int, end: int) -> Origins:
    """Returns what content of a period rests on whose rows come from the period alone: the parts of origins in its
    time. Origins that rest on a declaration alone stay. Where nothing was there to copy, nothing was there as of the
    oldest commit that was read.
    """
    kept = [
        origin._replace(start=max(origin.start, start), end=min(origin.end, end))
        if origin.start < origin.end
        else origin
        for origin in origins
        if origin.kind is not OriginKind.COPIED
        and (origin.start == origin.end or (origin.start < end and start < origin.end))
    ]
    copied = [origin for origin in origins if origin.kind is OriginKind.COPIED]
    as_of = {**_oldest(copied), **_oldest(copies_within(origins, start, end))}
    kept += (Origin(OriginKind.COPIED, *source, commit, start, end) for source, commit in as_of.items())
    return merged_origins(kept)


def _oldest(origins: Iterable[Origin]) -> dict[tuple[int, int], int]:
    """Returns the oldest commit of origins, by table and update period."""
    oldest: dict[tuple[int, int], int] = {}
    for origin in origins:
        source = (origin.table, origin.period)
        oldest[source] = min(origin.as_of, oldest.get(source, origin.as_of))
    return oldest


def copies_within(origins: Origins, start: int, end: int) -> Origins:
    """Returns the parts in a time of the origins that were copied."""
    return tuple(
        origin._replace(start=max(origin.start, start), end=min(origin.end, end))
        for origin in origins
        if origin.kind is OriginKind.COPIED and origin.start < end and start < origin.end
    )


def over_time(origins: Origins, start: int, end: int) -> Origins:
    """Returns origins with the whole of a period. What comes into it later, where its content was copied from, is
    missing in the copy, whatever time was read.
    """
    widened: list[Origin] = []
    for origin in origins:
        shares_time = origin.start < end and start < origin.end
        if shares_time:
            widened.append(origin._replace(start=min(origin.start, start), end=max(origin.end, end)))
            continue
        if origin.start < origin.end or origin.kind is not OriginKind.COPIED:
            widened.append(origin)
        if origin.kind is OriginKind.COPIED:
            widened.append(origin._replace(start=start, end=end))
    return tuple(widened)
