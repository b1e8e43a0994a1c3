"""The content that a partition was computed from, besides the base of its own fact: its proof rests on that.

A rollup that was computed from a TRUSTED rollup, or from an accepted one, is as right as that one. Its row names the
table, the period and the time that it rests on. The commit of a change there, and of a change of the declaration,
judges it again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any, NamedTuple


class OriginKind(StrEnum):
    """The reason why content that a partition rests on counts as right."""

    #: Its owner declares the table TRUSTED in its fact.
    TRUSTED = "trusted"
    #: CHECK FACT … ACCEPT has compared it with the base.
    ACCEPTED = "accepted"


class Origin(NamedTuple):
    """Partitions of one table and update period, in a time, on which other content rests.

    ``table`` is its id, ``period`` the number of the update period. ``as_of`` is the number of the commit up to which
    the changes of these partitions are included. ``start`` and ``end`` are microseconds since 1970; an empty time
    (``start == end``) rests on the declaration alone. ``accepted`` is the commit of the acceptance.
    """

    kind: OriginKind
    table: int
    period: int
    as_of: int
    start: int
    end: int
    accepted: int | None = None


Origins = tuple[Origin, ...]


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


def merged_origins(origins: Iterable[Origin], as_of: int) -> Origins:
    """Returns origins that were read by one statement whose snapshot is ``as_of``: one for each table, period and word,
    over the whole time between the first and the last.
    """
    by_word: dict[tuple[Any, ...], list[Origin]] = {}
    for origin in origins:
        by_word.setdefault((origin.kind, origin.table, origin.period, origin.accepted), []).append(origin)
    return tuple(_hull(group)._replace(as_of=as_of) for _, group in sorted(by_word.items(), key=_word_order))


def _word_order(item: tuple[tuple[Any, ...], Any]) -> tuple[Any, ...]:
    kind, table, period, accepted = item[0]
    return kind, table, period, accepted or 0


def _hull(group: Sequence[Origin]) -> Origin:
    times = [origin for origin in group if origin.start < origin.end] or group[:1]
    return group[0]._replace(start=min(origin.start for origin in times), end=max(origin.end for origin in times))
