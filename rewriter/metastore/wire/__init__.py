"""The Thrift interface of the Hive metastore, its messages, and one end of a connection."""
