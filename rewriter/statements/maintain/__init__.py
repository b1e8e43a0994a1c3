"""ANALYZE, COMPACT, VACUUM, CHECK FACT and REFRESH FACT.

The statistics of ANALYZE are a property with a digest of the content that was counted: the numbers of the commits
that wrote managed partitions, the files of external ones. Writes ignore them; a reader compares the
digest.
"""
