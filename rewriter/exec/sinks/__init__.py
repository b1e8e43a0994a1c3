"""Sinks: how the rows of a write become the files of partitions. ``choice`` selects one of them for a write.

- ``single_partition``: all rows belong to one partition.
- ``grouped``: the rows come sorted by partition, so one file is open at a time. ``packed`` is the same with files that
  hold several partitions.
- ``ungrouped``: the rows come in any order, and several files are open. The least recently used one is closed where
  there would be too many.
- sorted (accumulate-and-sort): rows in any order are held up to a number of bytes and sorted (``partition_rows``); then
  a grouped or packed sink writes them.

``table_sink`` puts them behind the protocol that users' sinks have, too; both engines write through it.

A sink holds at most ``held_rows.MOST_HELD_BYTES`` of rows, and accumulate-and-sort twice
``partition_rows.ACCUMULATED_BYTES`` besides, whatever the number of partitions. The modules also run in Spark's Python
workers, shipped by value, so they import nothing but the formats.
"""
