"""Snapshots, and all reads under one.

Every row of the catalog carries the write id that made it and the one that ended it, so a snapshot is a predicate.
All readers find partitions in one way (``partition_lookup``): the planner, SHOW, DROP PARTITION, the checks of
INSERT, freshness and statistics ask a snapshot for the partitions of a filter or of key ranges. A commit does
not: it reads the live rows of its own database transaction (``catalog.commit.partition_rows``).

One index serves a whole filter (``access_paths``): the keys, or the entries of one other column, chosen by bounded
counts, so no key is visited twice. An entry has no versions; the partition's row says whether the partition exists.
"""
