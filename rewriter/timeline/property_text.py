"""Timelines as key-value pairs: texts cut into values that a metastore can hold, and read back (seed 000).

A text is stored under numbered keys, as Lens does: ``holes.size`` says how many there are; ``holes0``, ``holes1``, …
hold it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

#: The most characters in one value: Hive's metastore keeps 4,000.
LONGEST = 3999

#: The pattern of an ordinal in decimal. One digit more than ordinals have, for an end that is excluded.
ORDINAL = r"-?[0-9]{1,18}"

_SIZE = re.compile(r"[0-9]{1,9}")


def to_chunks(key: str, pieces: Iterable[str]) -> dict[str, str]:
    """The pieces, one after the other, under ``<key>.size`` and numbered keys. No piece is cut; none is too long."""
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
    """The text that ``to_chunks`` stored, or that ``key`` alone holds; ``None`` where it is not there or not whole."""
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
    """The items of a list as pieces: each but the last is followed by its comma."""
    pieces = [f"{item}," for item in items]
    if pieces:
        pieces[-1] = pieces[-1][:-1]
    return pieces
