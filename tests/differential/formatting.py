"""Odd ways to type a query: comments, line ends, letter case, needless backquotes."""

from __future__ import annotations

import random
import re

from .queries import Written

_PIECE = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`|\w+|\s+|.", re.DOTALL)
_BLANKS = (" ", "  ", "\n", "\r\n", "\t")
_SPACES = (*_BLANKS, " /* it's */ ", ' -- `é` "\n', "\n/* FROM flights, würfel */ ", " /**/ ")
#: Words that can be typed in any case and are names nowhere.
_WORDS = frozenset(
    "SELECT FROM WHERE GROUP BY HAVING ORDER LIMIT AND OR NOT NULL IS IN AS ON CASE WHEN THEN ELSE END BETWEEN JOIN "
    "LEFT RIGHT FULL INNER CROSS SEMI ANTI OUTER UNION ALL DISTINCT WITH EXISTS LIKE FILTER CAST".split()
)


def formatted(written: Written, rng: random.Random) -> Written:
    """Returns the same query, typed oddly, with the moved positions of its mentions."""
    out: list[str] = []
    moved: dict[int, int] = {}
    places = {position for position, _ in written.mentions}
    length, before = 0, ""
    for match in _PIECE.finditer(written.text):
        piece = match[0]
        if match.start() in places:
            moved[match.start()] = length
        elif piece.isspace():
            # A comment inside GROUP BY is refused: the parser takes the two words for one.
            spaces = _BLANKS if before in ("GROUP", "ORDER", "PARTITION") else _SPACES
            piece = rng.choice(spaces) if rng.random() < 0.25 else " "
        elif piece in _WORDS and rng.random() < 0.3:
            piece = rng.choice((piece.lower(), piece.title()))
        if not match[0].isspace():
            before = match[0]
        out.append(piece)
        length += len(piece)
    return Written("".join(out), tuple((moved[position], cube) for position, cube in written.mentions))
