"""VALUES whose cells are all literals: recognized by its tokens, without a tree.

Programs write such statements with many thousands of rows. They name no table and call no function, so nothing of them
needs to be planned.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from rewriter.grammar.lexer import Token, TokenKind
from rewriter.lazy_dataclass import dataclass

#: The kinds of cells. A number with a sign is a ``NEGATIVE``, whose token is the number alone.
STRING, NUMBER, NEGATIVE, TRUE, FALSE, NULL = "snmtf0"

_OF_KIND = {TokenKind.STRING: STRING, TokenKind.NUMBER: NUMBER}
_OF_TEXT = {"NULL": NULL, "TRUE": TRUE, "FALSE": FALSE, "(": "(", ")": ")", ",": ",", "-": "-"}
_CELLS = frozenset((STRING, NUMBER, TRUE, FALSE, NULL))
_ANY_CELL = str.maketrans(dict.fromkeys((*_CELLS, NEGATIVE), "x"))
_CELLS_ALONE = str.maketrans("", "", "(),")
#: A sign that belongs to no number.
_STRAY_SIGN = re.compile(f"-(?!{NUMBER})")


@dataclass(frozen=True)
class LiteralColumn:
    """The cells of one column, from the first row to the last: their kinds, one character each, and their tokens."""

    kinds: str
    tokens: Sequence[Token]


def is_literal_rows(text: str, tokens: Sequence[Token]) -> bool:
    """Tests whether a query is ``VALUES (…), (…)`` and nothing else: rows of literals, all of one length.

    ``tokens`` are the tokens of ``text``. A text with comments does not count: sqlglot and Spark may see them
    differently. Linear.
    """
    return _outline(text, tokens) is not None


def literal_columns(text: str, tokens: Sequence[Token]) -> tuple[LiteralColumn, ...] | None:
    """Returns the columns of such a query; ``None`` for any other query."""
    outline = _outline(text, tokens)
    if outline is None:
        return None
    width = _width(outline)
    cells = [token for mark, token in zip(outline, tokens[1:], strict=True) if mark in _CELLS]
    kinds = outline.replace("-" + NUMBER, NEGATIVE).translate(_CELLS_ALONE)
    return tuple(LiteralColumn(kinds[column::width], cells[column::width]) for column in range(width))


def _outline(text: str, tokens: Sequence[Token]) -> str | None:
    """Returns one character for each token behind VALUES; ``None`` if they are not rows of literals."""
    if len(tokens) < 2 or not tokens[0].is_word("VALUES") or "--" in text or "/*" in text:
        return None
    mark_of = _OF_TEXT.get
    outline = "".join([_OF_KIND.get(t[0]) or mark_of(t[1]) or mark_of(t[1].upper(), "?") for t in tokens[1:]])
    row = f"({','.join('x' * _width(outline))})"
    expected = ",".join([row] * outline.count(")"))
    is_table = outline.replace("-", "").translate(_ANY_CELL) == expected
    return outline if is_table and not _STRAY_SIGN.search(outline) else None


def _width(outline: str) -> int:
    """Returns the number of cells in the first row."""
    return outline.partition(")")[0].count(",") + 1
