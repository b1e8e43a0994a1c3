"""The results of ANALYZE for a table or a partition, stored as a property of it, with a digest of the content.

Statistics belong to one content, which their digest identifies. A reader compares it: after any later write they are
stale, and no longer the table's.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, field

from rewriter.lazy_dataclass import dataclass

#: The property that holds them; users cannot set properties with this prefix.
_PROPERTY = "rewriter.statistics"

#: The property of an external partition that holds the digest of the files that rollups were computed from, or, for a
#: rollup partition, that CHECK FACT accepted.
FILES = "rewriter.files"


@dataclass(frozen=True)
class ColumnStatistics:
    """Statistics of one column over all rows that were counted.

    ``type`` is the type of the column at that time. ``minimum`` and ``maximum`` are texts, ``None`` if the type has
    none or every value is NULL. Lengths are characters of strings and bytes of all other types; the average is rounded
    up.
    """

    type: str
    nulls: int
    distinct: int
    minimum: str | None
    maximum: str | None
    average_length: int | None
    greatest_length: int | None


@dataclass(frozen=True)
class Statistics:
    """Statistics of a table or a partition. ``rows`` is ``None`` if not counted; ``columns`` are by stored name, in
    lower case.
    """

    content: str
    rows: int | None
    files: int
    bytes: int
    columns: Mapping[str, ColumnStatistics] = field(default_factory=dict)

    def to_property(self) -> dict[str, str]:
        """Returns the property that ``statistics_in`` reads."""
        return {_PROPERTY: json.dumps(asdict(self), ensure_ascii=False, separators=(",", ":"))}


def statistics_in(properties: Mapping[str, str]) -> Statistics | None:
    """Returns the statistics in the properties of a table or partition, for any content; ``None`` if there are none.

    Unreadable statistics count as none, because they are only additional.
    """
    try:
        data = json.loads(properties[_PROPERTY])
        columns = {name: ColumnStatistics(**figures) for name, figures in data.pop("columns").items()}
        return Statistics(**data, columns=columns)
    except (KeyError, ValueError, TypeError, AttributeError):
        return None


#: How the properties begin that the metastore keeps for its clients (``hive.descriptors``).
OF_CLIENTS = "rewriter.metastore"
#: A table that only clients write, because its rows obey what is not checked here: buckets, columns without NULL.
WRITTEN_BY_CLIENTS = f"{OF_CLIENTS}.written_by_clients"


def is_reserved(key: str) -> bool:
    """Returns True if a property is maintained by the catalog itself, or for clients of the metastore, and users cannot
    set it.
    """
    return key.lower().startswith((_PROPERTY, FILES, OF_CLIENTS))


def without_statistics(properties: Mapping[str, str]) -> dict[str, str]:
    """Returns the users' properties."""
    return {key: value for key, value in properties.items() if not is_reserved(key)}


def digest(parts: Iterable[tuple[object, ...]]) -> str:
    """Returns a short text that differs if the parts, which hold texts and numbers, differ. Linear in their number."""
    hasher = hashlib.sha256()
    for part in parts:
        hasher.update(json.dumps(part).encode() + b"\n")
    return hasher.hexdigest()[:32]
