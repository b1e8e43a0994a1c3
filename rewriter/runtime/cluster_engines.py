"""The engines of a session: its own one, and one for each address of a cluster. Each starts when it is first needed."""

from __future__ import annotations

from collections.abc import Callable

from rewriter.catalog.clusters.definitions import Cluster
from rewriter.exec.engine import Engine
from rewriter.runtime.cluster_access import allowed_address, allowed_options, defined_in_catalog
from rewriter.runtime.connection_settings import engine_of
from rewriter.runtime.engine_start import start_engine
from rewriter.runtime.settings import SessionSettings


class ClusterEngines:
    """The engines at the addresses of clusters. One thread at a time.

    ``own`` returns the session's own engine, which serves the clusters without an address, and those of its own
    address: ``own_name`` and ``own_master``.
    """

    def __init__(self, own: Callable[[], Engine], own_name: str, own_master: str | None) -> None:
        self._own = own
        self._own_name = own_name
        self._own_address = own_name if own_name == "duckdb" else own_master
        self._started: dict[str, Engine] = {}

    def of(self, cluster: Cluster, settings: SessionSettings) -> Engine:
        """Returns the engine of a cluster. The options of the cluster that starts it count, those that are allowed.

        Raises ``OperationalError`` CLUSTER_ADDRESS_NOT_ALLOWED.
        """
        if self.is_own(cluster):
            return self._own()
        from_catalog = defined_in_catalog(settings)
        address = str(allowed_address(cluster, settings, from_catalog))
        if address not in self._started:
            name, master = engine_of(address, None)
            options = allowed_options(cluster, settings, from_catalog)
            self._started[address] = start_engine(name, master, options=options)
        return self._started[address]

    def is_own(self, cluster: Cluster) -> bool:
        """Returns whether the engine of a cluster is the session's own one."""
        return cluster.engine is None or cluster.engine == self._own_address

    def name_of(self, cluster: Cluster) -> str:
        """Returns ``spark`` or ``duckdb``. Starts nothing."""
        return self._own_name if cluster.engine is None else engine_of(cluster.engine, None)[0]

    def close(self) -> None:
        """Closes all engines that were started here. Idempotent. Raises the first error when all are closed."""
        started, self._started = self._started, {}
        errors = []
        for engine in started.values():
            try:
                engine.close()
            except Exception as error:
                errors.append(error)
        if errors:
            raise errors[0]
