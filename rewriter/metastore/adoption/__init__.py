"""The import of a running Hive metastore: its tables become external tables of the catalog."""
