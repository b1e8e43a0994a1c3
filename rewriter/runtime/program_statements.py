"""Statements that only a program makes: they hold data of the program, and have no text."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from rewriter.grammar.statements import Statement
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rewriter.grammar.terms import Name
    from rewriter.planner.model.plan import CoverPart
    from rewriter.runtime.result import ShadowProof


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


@dataclass
class EarlierProofs:
    """The (table, period, ordinal) that the proofs of a session have ``compared``, and by table and period how many
    partitions the next comparison has, so that it ends in time.
    """

    compared: set[tuple[str, str, int]] = field(default_factory=set)
    sizes: dict[tuple[str, str], int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ProveRollups(Statement):
    """A shadow proof: compares a ``share`` of the rollups among the parts of a cover with their base, for ``seconds``
    at most. ``earlier`` is what earlier proofs of the session did. The findings are added to ``proof``.
    """

    parts: Sequence[CoverPart]
    seconds: float
    share: float
    earlier: EarlierProofs = field(compare=False)
    proof: ShadowProof = field(compare=False)
