"""The proofs of rollups in the rows of a fact's partitions, read after the commit that wrote them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from rewriter.catalog.facts.time_binding import TimeBinding
from rewriter.catalog.model.proofs import BEFORE_FACT, UNKNOWN, Proof


@dataclass(frozen=True)
class StoredProofs:
    """Reads the proofs of rollup partitions of one fact from their rows.

    ``made_by`` is the number of the commit that created the fact. ``trusted`` is the newest commit of the releases that
    accepted rollups without a proof.
    """

    made_by: int
    trusted: int
    bindings: Sequence[TimeBinding]

    def of(self, binding: TimeBinding, proof: Proof, sources: Collection[int], commit: int) -> Proof:
        """Returns the proof of a partition whose content ``commit`` computed from the tables ``sources``.

        Content that is older than the table's membership in the fact is unproven. In facts of earlier releases it keeps
        their judgment: outdated if it was computed from a rollup, because it is unknown which write invalidated
        that rollup.
        """
        since = binding.since(self.made_by)
        if commit > since:
            return proof
        if since > self.trusted:
            return Proof(UNKNOWN, BEFORE_FACT)
        rollups = (
            binding for binding in self.bindings if binding.rollup_periods and binding.since(self.made_by) <= since
        )
        return proof if {rollup.table.id for rollup in rollups}.isdisjoint(sources) else Proof(UNKNOWN)
