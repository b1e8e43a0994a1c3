"""Maintenance of a catalog: removal of unused files, consistency check, dump and restore, identity of warehouses.

- **Files are removed in three steps** (``file_garbage``): they are chosen; one commit number declares them removed, so
  that readers of older states get an error; they are removed, and then their rows. The decision needs no lock: the
  commit number is older than the retention, every open transaction and every lease (``catalog.store.leases`` has the
  proof). Rows of partitions stay, because timelines and conflicts are judged by them.
- **A catalog and a directory carry the same identity** (``warehouse_identity``). Paths are stored relative to the
  warehouse, so a copy never refers to its original; the recorded directory distinguishes a copy from a move. Write ids
  that another catalog used are noted (``foreign_writes``), so VACUUM removes only files of this catalog's writes.
"""
