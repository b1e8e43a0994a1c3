"""The clusters as one session sees them: the properties of the catalog, overridden by SET, and the choice of USE."""

from __future__ import annotations

from collections.abc import Mapping

from rewriter.catalog.clusters.definitions import (
    CLUSTER_KEYS,
    CLUSTER_PROPERTIES,
    DEFAULT_CLUSTER_NAME,
    Clusters,
    clusters_of,
)
from rewriter.errors import Error
from rewriter.runtime.cluster_engines import ClusterEngines
from rewriter.runtime.settings import SessionSettings


def effective_properties(properties: Mapping[str, str], settings: SessionSettings) -> dict[str, str]:
    """Returns the properties of the catalog with those that the session overrides.

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
