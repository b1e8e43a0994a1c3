"""Names of temporary tables: rows of the catalog like all others, under a name that nobody can type.

``sample@<32 hexadecimal digits of the session>``: a session finds its own tables by their plain names, and nobody sees
those of others. The whole catalog takes them for what they are, tables, so every statement about them is transactional.
"""

from __future__ import annotations

import re

from rewriter.catalog.names import parts_of

_NAME = re.compile(r"(.*)@([0-9a-f]{32})", re.DOTALL)
_ANYWHERE = re.compile(r"@[0-9a-f]{32}")


def stored_name(name: str, session: str) -> str:
    """The name in the catalog of a session's temporary table."""
    return f"{name}@{session}"


def session_of(name: str) -> str | None:
    """The session whose temporary table has this name; ``None`` for the name of anything else."""
    found = _NAME.fullmatch(name.lower())
    return found[2] if found else None


def place_of(name: str) -> tuple[str, str]:
    """Database and name of an object, as statements say them; the database is empty for a temporary table."""
    return ("", shown(name)) if session_of(name) is not None else parts_of(name)


def plainly(text: str, session: str | None) -> str:
    """A text with the names of a session's temporary tables as they were typed, and all else as it is."""
    return text if session is None else text.replace(f"@{session}", "")


def shown(text: str) -> str:
    """A text with the names of temporary tables as they were typed."""
    return _ANYWHERE.sub("", text)
