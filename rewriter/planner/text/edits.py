"""Edits of the user's text, and the parts that an edit puts there."""

from __future__ import annotations

from dataclasses import dataclass

from rewriter.errors import Span
from rewriter.planner.model.plan import TableToken


@dataclass(frozen=True)
class Copied:
    """In an edit's parts: a stretch of the text, with the edits inside it made."""

    span: Span


Part = str | TableToken | Copied


@dataclass(frozen=True)
class Edit:
    """Replaces a span of the text (an empty span inserts). ``what`` is a short description of the edit."""

    span: Span
    parts: tuple[Part, ...]
    what: str = ""
