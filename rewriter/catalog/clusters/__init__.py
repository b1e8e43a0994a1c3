"""The clusters of a warehouse: their definitions, and what may be in one.

Clusters are properties of the catalog, under the names of the proposal for Hive. A session overrides them with SET. The
definitions are values; who may use an address or an option is decided where they are used (``runtime.cluster_access``).
"""
