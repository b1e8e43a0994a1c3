"""Names of temporary tables: rows of the catalog like all others, under a name that cannot be typed.

``sample@<32 hexadecimal digits of the session>``: a session finds its own tables by their plain names, and does not see
those of other sessions. The catalog treats them as tables, so every statement about them is transactional.
"""

from __future__ import annotations

import re

from rewriter.catalog.model.qualified_names import parts_of

_NAME = re.compile(r"(.*)@([0-9a-f]{32})", re.DOTALL)
_ANYWHERE = re.compile(r"@[0-9a-f]{32}")


def stored_name(name: str, session: str) -> str:
    """Returns the name in the catalog of a session's temporary table."""
    return f"{name}@{session}"


def session_of(name: str) -> str | None:
    """Returns the session whose temporary table has this name; ``None`` for any other name."""
    match = _NAME.fullmatch(name.lower())
    return match[2] if match else None


def place_of(name: str) -> tuple[str, str]:
    """Returns database and name of an object, as statements write them; the database of a temporary table is empty."""
    return ("", shown(name)) if session_of(name) is not None else parts_of(name)


def plainly(text: str, session: str | None) -> str:
    """Returns a text with the names of a session's temporary tables as they were typed, otherwise unchanged."""
    return text if session is None else text.replace(f"@{session}", "")


def shown(text: str) -> str:
    """Returns a text with the names of temporary tables as they were typed."""
    return _ANYWHERE.sub("", text)
