"""Engines that run Spark SQL: Spark itself and DuckDB by an allow-list."""
