"""Engines that run Spark SQL, behind one protocol (``engine``): Spark itself, and DuckDB by an allow-list.

Files of managed Parquet tables are packed: one holds several partitions, sorted by key, with the partition columns
stored in it (``sinks.packed``). The catalog names the parts that count. ``file_groups`` decides how files are read:
whole packed files as they are, other parts joined with the catalog's list by the file and the stored values, files of
one partition by the values in their paths. A part is found by its values and not by row numbers, because both engines
skip row groups by the statistics of columns.

``parquet_footers`` has the figures for queries that need no row: numbers of rows and NULLs, least and greatest values.

``theta_sketches`` reads and writes the bytes of sketches; ``duckdb.own_functions`` has the functions that DuckDB lacks.

pyspark and duckdb are ordinary dependencies that are imported lazily; Java comes with the extra ``java``.
"""
