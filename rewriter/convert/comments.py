"""The comments that a conversion leaves in the text."""

from __future__ import annotations

import re

_MARK = "rewriter:"


def inline_comment(words: str) -> str:
    """Returns a comment within a line.

    >>> inline_comment("was CAST")
    '/* rewriter: was CAST */'
    """
    return f"/* {_MARK} {_without_edges(words)} */"


def line_comment(words: str) -> str:
    """Returns a comment of a whole line, with its end."""
    return f"-- {_MARK} {' '.join(words.split())}{_closed(words)}\n"


def commented_out(text: str) -> str:
    """Returns each line of a text as a comment, without a line end behind the last one."""
    return "\n".join(f"-- {line}{_closed(line)}" for line in re.split(r"\r\n|\n|\r", text))


def removed(text: str, reason: str) -> str:
    """Returns the comment in place of a clause."""
    return inline_comment(f"removed {' '.join(text.split())}: {reason}")


def _without_edges(words: str) -> str:
    return words.replace("/*", "/ *").replace("*/", "* /")


def _closed(line: str) -> str:
    """A backslash at the end of a comment would make the next line a part of it."""
    return " ." if line.rstrip().endswith("\\") else ""
