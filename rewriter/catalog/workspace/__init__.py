"""The private workspace of a transaction of several statements: its own changes, as its statements read them.

The term comes from optimistic concurrency control (Kung and Robinson, 1981). A transaction's changes become rows of the
catalog with its commit alone. Until then a private catalog, a temporary SQLite file, holds the tables that it changes
and the tables of their facts, as the transaction's snapshot sees them, and each statement is a commit there. So
statements read partitions, files, timelines and proofs as after a commit, of the snapshot's state and of nothing newer.
"""
