"""The proof of a rollup partition's content: the newest base commit that it includes, or why it is unproven.

A partition is *unproven* if nothing shows that its content was computed from the base: it was registered, loaded,
exchanged or written as VALUES, or its query has parts from which nothing follows. It is *incomplete* if its query read
the whole base, but base periods inside it were missing. Neither is used for cubes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from rewriter.catalog.model.origins import Origins

#: The ``as_of`` of content whose newest base commit is unknown. Without a ``doubt`` it is outdated, with one unproven.
UNKNOWN = -1
#: The ``as_of`` of a partition that was registered empty. A base partition registered so is no event.
REGISTERED = 0

#: The ``doubt`` of a rollup partition that is right once every base period inside it exists.
INCOMPLETE = "base periods inside it were missing when it was written"
#: The ``doubt`` of a partition that existed before its fact.
BEFORE_FACT = "it existed before the fact"
BY_ADD_PARTITION = "ADD PARTITION registered it"
BY_EXCHANGE = "EXCHANGE PARTITION moved it here"
BY_RENAME = "RENAME PARTITION gave it another name"
BY_LOCATION = "SET LOCATION gave it other files"
BY_CLIENT = "a client of the metastore changed its files"
BY_LOAD_DATA = "LOAD DATA loaded it"
BY_APPEND = "rows that no query of the fact computed were appended to it"
BY_COMPARISON = "CHECK FACT found that it differs from the base"
BY_SHADOW_PROOF = "the shadow proof of a query found that it differs from the base"
#: The ``doubt`` of rollup partitions that a comparison has found to differ from the base.
DIFFERING = (BY_COMPARISON, BY_SHADOW_PROOF)
BY_OTHER_FILES = "its files have changed since CHECK FACT accepted it"
FROM_UNPROVEN = "it was computed from unproven rollups"
#: The ``doubt`` of a partition that a stream fills and no trigger has committed, base or rollup. Its ``as_of`` is
#: ``REGISTERED``: it is no event until its commit.
OPEN = "a stream still fills it"
NO_BASE_READ = "the statement that wrote it read no table of the fact"


class Proof(NamedTuple):
    """The proof of one partition's content.

    ``as_of`` is the number of the commit up to which the content includes the base of its fact. ``doubt`` is ``None``,
    or ``INCOMPLETE``, or the reason why the content is unproven, in words. ``origins`` are other content that it rests
    on: without that, it is unproven.
    """

    as_of: int
    doubt: str | None = None
    origins: Origins = ()

    @property
    def is_open(self) -> bool:
        """True if a stream fills the partition, and nothing has committed it yet."""
        return self.doubt == OPEN

    @property
    def is_unproven(self) -> bool:
        """True if nothing proves the content, for any state of the base."""
        return self.doubt is not None and self.doubt != INCOMPLETE


class NetProof(NamedTuple):
    """The proof of a partition that a transaction of several statements wrote, before its commit.

    The ``as_of`` is the commit of the transaction's snapshot, or an earlier one. ``includes_own`` says that the content
    includes all base content that the transaction itself wrote within its time, too.
    """

    proof: Proof
    includes_own: bool = False


#: The proof of an open partition.
OPEN_PROOF = Proof(REGISTERED, OPEN)
