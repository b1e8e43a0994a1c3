"""A partition filter as ranges of key bytes and a remaining test. No I/O.

- **A filter is a set of ranges.** A literal is a position in the order of its column. NOT moves into the predicates, so
  that the remaining tree only asks what is TRUE. Equalities on leading columns and one range are a range of keys; the
  remaining filter is a test of the keys in the range. A plan has at most 256 ranges, which one statement reads
  (``scan_plans``).
- **The database tests the remaining filter on the key's bytes** (``residual_sql``), because byte order is value order:
  one condition for SQLite and PostgreSQL, either exact, or implied by the filter and tested again in Python. Its
  length and depth are limited, so it never makes a statement fail that would have run without it.
- **Conditions that no comparison expresses are computed** on the values that exist (``computed_predicates``).
"""
