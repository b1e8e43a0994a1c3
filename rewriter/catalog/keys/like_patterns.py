r"""LIKE as in Spark: ``%`` is any text, ``_`` any one character, ``\`` escapes ``%``, ``_`` and itself."""

from __future__ import annotations

import re
from functools import cached_property

from rewriter.errors import AnalysisError
from rewriter.lazy_dataclass import dataclass


@dataclass(frozen=True)
class LikePattern:
    """The pieces of a pattern between its ``%``, each with its characters (``None``: any character)."""

    pieces: tuple[tuple[str | None, ...], ...]

    @classmethod
    def of(cls, text: str) -> LikePattern:
        """Reads a pattern. Raises ``AnalysisError`` INVALID_FORMAT if a backslash stands before another character."""
        pieces: list[list[str | None]] = [[]]
        position = 0
        while position < len(text):
            char = text[position]
            if char == "\\":
                position += 1
                if text[position : position + 1] not in ("%", "_", "\\"):
                    raise _invalid(text, position >= len(text))
                pieces[-1].append(text[position])
            elif char == "%":
                pieces.append([])
            else:
                pieces[-1].append(None if char == "_" else char)
            position += 1
        return cls(tuple(map(tuple, pieces)))

    @property
    def prefix(self) -> str:
        """The literal beginning of all matching texts."""
        plain = []
        for char in self.pieces[0]:
            if char is None:
                break
            plain.append(char)
        return "".join(plain)

    @property
    def is_plain(self) -> bool:
        """True if only ``prefix`` itself matches."""
        return len(self.pieces) == 1 and None not in self.pieces[0]

    @property
    def is_prefix(self) -> bool:
        """True if exactly the texts that begin with ``prefix`` match."""
        return None not in self.pieces[0] and len(self.pieces) > 1 and not any(self.pieces[1:])

    @cached_property
    def _regexes(self) -> tuple[re.Pattern[str], ...]:
        return tuple(map(_regex, self.pieces))

    def matches(self, text: str) -> bool:
        """Returns True if the complete text matches. O(length of the text times length of the pattern) at worst."""
        first, *middle = self._regexes
        if not middle:
            return first.fullmatch(text) is not None
        last, tail = middle.pop(), len(text) - len(self.pieces[-1])
        match = first.match(text)
        for piece in middle:
            if match is None or match.end() > tail:
                return False
            match = piece.search(text, match.end(), tail)
        return match is not None and match.end() <= tail and last.match(text, tail) is not None


def _regex(piece: tuple[str | None, ...]) -> re.Pattern[str]:
    return re.compile("".join("." if char is None else re.escape(char) for char in piece), re.DOTALL)


def _invalid(text: str, at_end: bool) -> AnalysisError:
    return AnalysisError(
        f"The pattern '{text}' has the escape character '\\' {'at its end' if at_end else 'before another character'}.",
        condition=f"INVALID_FORMAT.ESC_{'AT_THE_END' if at_end else 'IN_THE_MIDDLE'}",
        sqlstate="42601",
        hint="A backslash must precede %, _ or a backslash; in a string literal, write a backslash as \\\\.",
    )
