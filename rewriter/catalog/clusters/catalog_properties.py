"""The properties of a catalog: their names, and the check of all together."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from rewriter.catalog.clusters.definitions import CLUSTER_KEYS, clusters_of
from rewriter.errors import AnalysisError


def property_key(name: str) -> str:
    """Returns the name of a property as the catalog stores it. Names are compared without case.

    Raises ``AnalysisError`` UNKNOWN_CATALOG_PROPERTY for other names.
    """
    key = name.strip().lower()
    if key in CLUSTER_KEYS:
        return key
    near = difflib.get_close_matches(key, CLUSTER_KEYS, n=1, cutoff=0.4)
    raise AnalysisError(
        f"A catalog has no property {name}.",
        condition="UNKNOWN_CATALOG_PROPERTY",
        object=name,
        hint=f"Did you mean {near[0]}?" if near else f"The properties are {', '.join(CLUSTER_KEYS)}.",
    )


def changed_properties(properties: Mapping[str, str], name: str, value: str | None) -> dict[str, str]:
    """Returns the properties with one more value, or without it if ``value`` is ``None``, by name.

    Raises UNKNOWN_CATALOG_PROPERTY, and ``DataError`` INVALID_CLUSTER_PROPERTIES if they do not fit together.
    """
    key = property_key(name)
    changed = {other: text for other, text in properties.items() if other != key}
    if value is not None:
        changed[key] = value
    clusters_of(changed)
    return dict(sorted(changed.items()))
