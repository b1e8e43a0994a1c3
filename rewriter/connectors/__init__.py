"""Tables that are a user's own Python objects: protocols of sources and sinks, which are the same on both engines.

The rows of a source are read once for each statement that names it, after its partitions are pruned, into Parquet files
that live as long as the statement: every engine reads them as often as its plan needs, with their number of rows, their
bytes and the statistics of their columns. A sink gets the rows of a query.
"""
