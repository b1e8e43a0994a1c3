"""Formats and locations of tables, as statements give them."""

from __future__ import annotations

import os
from pathlib import Path

from rewriter.errors import NotSupportedError
from rewriter.grammar.terms import Name

FORMATS = ("parquet", "csv", "json", "orc")


def absolute(location: str, base: str | Path, name: Name) -> str:
    """Returns a location as an absolute path; relative ones lie below ``base``."""
    if location.startswith("file:"):
        location = "/" + location.removeprefix("file:").lstrip("/")
    if "://" in location or not location or "\0" in location:
        raise NotSupportedError(
            f"The location '{location}' is not a local directory.",
            position=name.span,
            object=name.last,
            hint="Use a path in this machine's file system.",
        )
    # ``normpath`` keeps two slashes at the beginning, which mean the same as one.
    return os.path.normpath("/" + os.path.join(os.path.abspath(base), location).lstrip("/"))
