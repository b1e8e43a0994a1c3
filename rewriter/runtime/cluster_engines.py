"""The engines of a session: its own one, and one for each address of a cluster. Each starts when it is first needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from rewriter.catalog.clusters.definitions import (
    CLUSTER_KEYS,
    CLUSTER_PROPERTIES,
    DEFAULT_CLUSTER_NAME,
    Cluster,
    Clusters,
    clusters_of,
)
from rewriter.errors import Error, OperationalError
from rewriter.runtime.cluster_settings import ALLOWED_ADDRESSES, ALLOWED_OPTIONS, allows
from rewriter.runtime.connection_settings import engine_of
from rewriter.runtime.engine_start import start_engine

if TYPE_CHECKING:
    from rewriter.exec.engine import Engine
    from rewriter.runtime.settings import SessionSettings


class ClusterEngines:
    """The engines at the addresses of clusters. One thread at a time.

    ``own`` returns the session's own engine, which serves the clusters without an address, and the clusters of its own
    address: ``own_name`` and ``own_master``.
    """

    def __init__(self, own: Callable[[], Engine], own_name: str, own_master: str | None) -> None:
        self._own = own
        self._own_name = own_name
        self._own_address = own_name if own_name == "duckdb" else own_master
        self._started: dict[str, Engine] = {}

    def of(self, cluster: Cluster, settings: SessionSettings) -> Engine:
        """Returns the engine of a cluster. The allowed options of the cluster that starts it count.

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


# What takes effect of a cluster's definition: its engine's address and options.
#
# Any user of the catalog may write a definition. Without the reader's consent it could start programs on the reader's
# machine, or send data to another host. So an address or option out of the catalog takes effect only if the settings
# ``rewriter.allowed_addresses`` and ``rewriter.allowed_options`` have it; ``rewriter.toml`` sets them in
# ``[clusters]``. Definitions that SET gives are the session's own word.


def defined_in_catalog(settings: SessionSettings) -> bool:
    """Tests whether the definitions of the clusters are the catalog's definitions, not the session's own ones."""
    return not settings.get(CLUSTER_PROPERTIES)


def allowed_address(cluster: Cluster, settings: SessionSettings, from_catalog: bool) -> str | None:
    """Returns the address of a cluster's engine; ``None`` is the session's own engine.

    Raises ``OperationalError`` CLUSTER_ADDRESS_NOT_ALLOWED if the definition comes from the catalog, and the settings
    do not allow the address. Call it when the engine is to be used.
    """
    address = cluster.engine
    if address is None or not from_catalog or allows(settings.get(ALLOWED_ADDRESSES), address):
        return address
    raise OperationalError(
        f"The cluster {cluster.name} has the address {address} in the catalog, which this session does not allow.",
        condition="CLUSTER_ADDRESS_NOT_ALLOWED",
        object=cluster.name,
        hint=f'If you trust it, write allowed_addresses = ["{address}"] below [clusters] in rewriter.toml, or set '
        f"{ALLOWED_ADDRESSES}.",
    )


def allowed_options(cluster: Cluster, settings: SessionSettings, from_catalog: bool) -> dict[str, str]:
    """Returns the options of a cluster that take effect: all if the session defines it, otherwise the allowed ones."""
    if not from_catalog:
        return dict(cluster.options)
    allowed = {name.strip().lower() for name in settings.get(ALLOWED_OPTIONS).split(",")}
    return {name: value for name, value in cluster.options.items() if name.lower() in allowed}


def is_allowed(cluster: Cluster, settings: SessionSettings, from_catalog: bool) -> bool:
    """Tests whether the address and all options of a cluster take effect."""
    try:
        allowed_address(cluster, settings, from_catalog)
    except OperationalError:
        return False
    return len(allowed_options(cluster, settings, from_catalog)) == len(cluster.options)


# The clusters as one session sees them: the properties of the catalog, overridden by SET, and the choice of USE.


def effective_properties(properties: Mapping[str, str], settings: SessionSettings) -> dict[str, str]:
    """Returns the properties of the catalog with the properties that the session overrides.

    If the session defines the clusters itself, the catalog's default cluster counts only if it is among them.
    """
    overrides = {key: value for key in CLUSTER_KEYS if (value := settings.get(key))}
    effective = {**properties, **overrides}
    if CLUSTER_PROPERTIES in overrides and DEFAULT_CLUSTER_NAME not in overrides:
        own = clusters_of({CLUSTER_PROPERTIES: overrides[CLUSTER_PROPERTIES]})
        if effective.get(DEFAULT_CLUSTER_NAME, "").lower() not in own.by_name:
            effective.pop(DEFAULT_CLUSTER_NAME, None)
    return effective


class SessionClusters:
    """The choice of one session, and the clusters of its last statement. One thread at a time."""

    def __init__(self, engines: ClusterEngines | None = None, chosen: str | None = None) -> None:
        #: The engines of the clusters; ``None`` if there is only the session's own one.
        self.engines = engines
        #: The name of the cluster that USE CLUSTER chose, as declared then; ``None`` without a choice.
        self.chosen = chosen
        self._last: tuple[dict[str, str], Clusters] | None = None

    def of(self, properties: Mapping[str, str], settings: SessionSettings) -> Clusters:
        """Returns the clusters under these properties and settings. Reads the JSON once for each state of them.

        Raises ``DataError`` INVALID_CLUSTER_PROPERTIES if they do not fit together.
        """
        effective = effective_properties(properties, settings)
        if self._last is None or self._last[0] != effective:
            self._last = effective, clusters_of(effective)
        return self._last[1]

    def close(self) -> None:
        """Closes the engines of the clusters."""
        if self.engines is not None:
            self.engines.close()

    def chosen_in(self, clusters: Clusters) -> str | None:
        """Returns the name of the chosen cluster; ``None`` without a choice. Raises ``AnalysisError`` CLUSTER_NOT_FOUND
        if it is not defined any more.
        """
        if self.chosen is None:
            return None
        try:
            return clusters.named(self.chosen).name
        except Error as error:
            error.hint = "The session uses it, and it is not defined any more. USE CLUSTER without a name ends the use."
            raise
