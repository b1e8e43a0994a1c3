"""The clusters of a warehouse: their definitions, and what may be in one.

Clusters are properties of the catalog, under the names of the proposal for Hive. A session overrides them with SET. The
definitions are values; the use of an address or an option is allowed where it is used (``runtime.cluster_engines``).
"""
