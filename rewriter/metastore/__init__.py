"""What Hive metastores and their clients exchange: the interface on the wire, and tables as their descriptors."""
