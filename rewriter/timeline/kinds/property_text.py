"""Timelines as key-value pairs: texts are cut into values that a metastore can hold, and read back (seed 000).

A text is stored under numbered keys, as in Lens: ``holes.size`` is the number of values; ``holes0``, ``holes1``, …
hold them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

#: The maximum number of characters in one value: Hive's metastore keeps 4,000.
LONGEST = 3999

#: The pattern of an ordinal in decimal. It allows one digit more than ordinals have, for an excluded end.
ORDINAL = r"-?[0-9]{1,18}"

_SIZE = re.compile(r"[0-9]{1,9}")


def to_chunks(key: str, pieces: Iterable[str]) -> dict[str, str]:
    """Concatenates the pieces into values under ``<key>.size`` and numbered keys. No piece is cut; none is too long.

    >>> to_chunks("holes", ["5..8,", "11"])
    {'holes.size': '1', 'holes0': '5..8,11'}
    """
    chunks: list[str] = []
    current: list[str] = []
    room = LONGEST
    for piece in pieces:
        if len(piece) > room:
            chunks.append("".join(current))
            current, room = [], LONGEST
        current.append(piece)
        room -= len(piece)
    if current:
        chunks.append("".join(current))
    return {f"{key}.size": str(len(chunks)), **{f"{key}{number}": chunk for number, chunk in enumerate(chunks)}}


def from_chunks(properties: Mapping[str, str], key: str) -> str | None:
    """Returns the text that ``to_chunks`` stored, or that ``key`` alone holds; ``None`` if it is absent or
    incomplete.
    """
    written = properties.get(f"{key}.size")
    if written is None:
        return properties.get(key)
    if _SIZE.fullmatch(written) is None:
        return None
    chunks: list[str] = []
    for number in range(int(written)):
        chunk = properties.get(f"{key}{number}")
        if chunk is None:
            return None
        chunks.append(chunk)
    return "".join(chunks)


def separated(items: Iterable[str]) -> list[str]:
    """Returns the items of a list as pieces: each piece but the last ends with a comma."""
    pieces = [f"{item}," for item in items]
    if pieces:
        pieces[-1] = pieces[-1][:-1]
    return pieces
