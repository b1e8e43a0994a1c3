"""The implementations of partition timelines, and the registry of their names.

- **No timeline stores single gaps.** Holes are ranges, so two partitions years apart cost one range.
- **Names in the catalog are looked up, never imported.** A user's class is available where the installation that reads
  the catalog registers it (``registry``). It must agree with a plain set over a fixed history before it is used, and
  its results are compared with plain ranges (``guarded``).
- **There is one stored form:** the ranges in ``timeline_ranges``. They are versioned, and the commit that changes the
  partitions changes them by deltas. A snapshot builds the class that the table's properties choose.
"""
