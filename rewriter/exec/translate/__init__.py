"""Spark SQL to DuckDB SQL by an allow-list: a construct is translated only if it is proven to mean the same."""
