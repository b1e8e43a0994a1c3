"""Chooses the cluster that runs a query (seed 004): one that has all partitions of its plan.

A query is planned once over all partitions. If no cluster has all that this plan needs, and the query reads cubes, it
is planned again for each cluster, over what that cluster has (``placed_reader``). The first plan is the cheapest, so
it is kept if a cluster can run it.
"""
