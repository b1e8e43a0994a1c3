"""What takes effect of a cluster's definition: its engine's address and options.

Any user of the catalog may write a definition. Without the reader's consent it could start programs on the reader's
machine, or send data to another host. So an address or option out of the catalog takes effect only if the settings
``rewriter.allowed_addresses`` and ``rewriter.allowed_options`` have it; ``rewriter.toml`` sets them in ``[clusters]``.
Definitions that SET gives are the session's own word.
"""

from __future__ import annotations

from rewriter.catalog.clusters.definitions import CLUSTER_PROPERTIES, Cluster
from rewriter.errors import OperationalError
from rewriter.runtime.cluster_settings import ALLOWED_ADDRESSES, ALLOWED_OPTIONS, allows
from rewriter.runtime.settings import SessionSettings


def defined_in_catalog(settings: SessionSettings) -> bool:
    """Tests whether the definitions of the clusters are those of the catalog, not the session's own ones."""
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
