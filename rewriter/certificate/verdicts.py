"""Verdicts on certificates, and the exceptions that a rule raises to give one."""

from __future__ import annotations

from enum import Enum

from rewriter.lazy_dataclass import dataclass


class FindingKind(Enum):
    """Why a certificate is not accepted: the evidence contradicts it, the checker does not know a part of it, or the
    catalog no longer shows the evidence.
    """

    REFUTED = "refuted"
    NOT_UNDERSTOOD = "not understood"
    OUT_OF_SIGHT = "out of sight"


@dataclass(frozen=True)
class Finding:
    """A reason why a certificate is not accepted. ``place`` names the reference, the piece or the words."""

    kind: FindingKind
    place: str
    text: str

    def __str__(self) -> str:
        return f"{self.place}: {self.text} [{self.kind.name}]"


@dataclass(frozen=True)
class Verdict:
    """The findings of a check. A certificate without any is accepted."""

    findings: tuple[Finding, ...]

    @property
    def is_accepted(self) -> bool:
        return not self.findings

    @property
    def is_refuted(self) -> bool:
        """True if the evidence contradicts the certificate."""
        return any(finding.kind is FindingKind.REFUTED for finding in self.findings)


class Unaccepted(Exception):
    """A rule does not accept a certificate."""

    kind: FindingKind


class Refuted(Unaccepted):
    """The evidence contradicts the certificate."""

    kind = FindingKind.REFUTED


class NotUnderstood(Unaccepted):
    """The certificate or its query has a part that the checker does not know."""

    kind = FindingKind.NOT_UNDERSTOOD


class OutOfSight(Unaccepted):
    """The catalog no longer shows what the certificate names."""

    kind = FindingKind.OUT_OF_SIGHT
