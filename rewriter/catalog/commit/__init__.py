"""Transactions: the work of each change in a commit, and the conflicts between commits.

- **A row is a claim.** The partition rows that a commit makes tell concurrent transactions which keys it wrote
  exclusively. Changes that leave no row (drops, wiped ranges) and the keys of INSERT INTO, which may be shared, are
  recorded separately.
- **Freshness is one comparison.** Commits are totally ordered. A rollup partition carries the number of the newest
  commit that its writer could see. It is outdated when a base partition inside it has a later commit. A rollup that
    was computed from fresh rollups covers the same commits. A filter on partition columns limits that coverage.
- **A proof comes before the comparison.** Freshness compares only rollups that are proven to be computed from the
  base. A proof is two fields of a partition row, ``as_of`` and ``doubt`` (``stored_proofs``).
- **A rollup is as complete as its base.** Each commit asks which base periods exist, or existed before retention
  dropped them (``base_presence``). A rollup that was written over a hole is incomplete, and the commit that fills the
  hole makes it fresh or outdated. MARK COMPLETE registers empty base partitions. Trust is a property of the storage
  table.
- **A period may consist of several partitions** (dt, country). It exists when COMPLETE WITH says that it is complete.
    A rollup is fresh when each of its partitions is no older than the base partitions of the same country, and every
    country of the base has a rollup partition (``completeness``).
- **An external base reports its changes.** Its files have no commits, so a commit notes their digest with the base
    partition. A different digest, found later, is an event of that base partition, and freshness follows as everywhere
  (``external_file_changes``). A write of rollups lists the files before and after its query. An external rollup has
    the digest of the files that CHECK FACT accepted; another one makes it unproven.
- **A table that joins a fact later is judged from then on.** The fact keeps the commit that added each table
    (``StorageTable.joined``). When a table leaves, its events no longer count, so rollups that were outdated at that
    moment are stored as unproven.
  - **Retention is no change.** DROP of a base partition outdates nothing; an INSERT OVERWRITE that removes rows does.
- **A move changes rows of the catalog.** RENAME and EXCHANGE PARTITION end rows under one key and make rows under
  another; files stay. A renamed base partition leaves a wipe behind, because a rollup of the old time would count its
    rows twice. A partition that is exchanged away leaves the same rows as a drop.
- **A directory moves after a note.** A commit and the rename of a directory of an external table cannot be one step.
    The commit records both paths, a marker file in the directory shows where the data is, and the next statement that
    names the table finishes an interrupted move (``directory_moves``).
- **An INSERT INTO onto a rollup partition that has rows makes it outdated**: nothing proves that the rows were not
  there. An unproven one stays unproven, with its reason.
- **Locations given by two transactions that do not see each other** are a conflict at commit (``location_claims``).
- **COMPACT writes no content.** The new row of a partition keeps the number of the commit that wrote its rows. It
  replaces exactly the files that it read; files of a later INSERT INTO stay beside it.
- **Exposed tables get new directories in the commit** (``exposures``). Commits run one after the other, so the links
  are to exactly the files of the new state, and INSERT INTOs that do not see each other both count. A directory is
  never changed, so readers of the earlier state are not disturbed, and a failed commit leaves only what VACUUM finds.
- **Workers claim what they refresh.** REFRESH FACT … MAX n claims its periods in the step that opens its transaction,
  and the claim ends with the transaction (``refresh_claims``).
- **Reads do not write.** The commit that requests a rebuild of timelines performs it. The newest row of each partition
  and the events of the base contain everything that the commits since CREATE FACT recorded, so a rebuild reaches the
  same judgments.
"""
