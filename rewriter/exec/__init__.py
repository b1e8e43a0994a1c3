"""Engines that run Spark SQL, behind one protocol (``engine``): Spark itself, and DuckDB by an allow-list.

pyspark and duckdb are ordinary dependencies that are imported lazily; Java comes with the extra ``java``.
"""
