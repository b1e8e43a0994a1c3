"""The catalog as a Hive metastore: the Thrift service that Spark, Trino and the tools of Hive call.

``server`` listens, ``dispatch`` runs each call with its handler. The service trusts its clients as far as a metastore
does: they name any user, and any directory as a location. So it listens to this machine alone unless told otherwise.
"""
