"""Statements that only a program makes: they hold data of the program, and have no text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rewriter.grammar.statements import Statement

if TYPE_CHECKING:
    from rewriter.grammar.terms import Name


@dataclass(frozen=True, kw_only=True)
class Append(Statement):
    """``session.append(table, data, batch_id)``."""

    table: Name
    data: Any = field(compare=False)
    batch_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class StartStream(Statement):
    """``session.stream(frame).into(table, …)``; ``trigger`` as in ``stream_options.read_trigger``."""

    frame: Any = field(compare=False)
    table: Name
    stream: str
    checkpoint: str
    trigger: str
