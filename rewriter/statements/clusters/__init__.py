"""Clusters: SHOW CLUSTERS, USE CLUSTER, the clusters of tables and partitions, REPLICATE."""
