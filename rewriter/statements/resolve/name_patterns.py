"""Patterns of names, as SHOW … LIKE takes them."""

from __future__ import annotations

import re


def fits_pattern(pattern: str, name: str) -> bool:
    """Returns whether a name matches a pattern of SHOW … LIKE, in any case: ``*`` is any text, ``|`` is or."""
    return any(
        re.fullmatch(".*".join(map(re.escape, alternative.strip().split("*"))), name, re.IGNORECASE)
        for alternative in pattern.split("|")
    )
