"""The embedded engine, DuckDB."""
