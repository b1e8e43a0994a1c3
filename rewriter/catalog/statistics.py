"""What ANALYZE found of a table or a partition, kept as a property of it, and which content it is about.

Statistics belong to one content. They name it by a digest, and who shows them compares: after a later write, whatever
wrote it, they are stale, and no longer the table's.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field

#: The property that holds them; what begins so is no property of the user's.
PROPERTY = "rewriter.statistics"


@dataclass(frozen=True)
class ColumnStatistics:
    """Figures of one column over all rows that were counted.

    ``type`` is the type that the column had. ``minimum`` and ``maximum`` are texts, ``None`` where the type has none or
    every value is NULL. Lengths are characters of strings and bytes of all else; the average is rounded up.
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
    """Figures of a table or a partition. ``rows`` is ``None`` where nobody counted; columns are named in lower case."""

    content: str
    rows: int | None
    files: int
    bytes: int
    columns: Mapping[str, ColumnStatistics] = field(default_factory=dict)

    def to_property(self) -> dict[str, str]:
        """The property that ``statistics_in`` reads."""
        return {PROPERTY: json.dumps(asdict(self), ensure_ascii=False, separators=(",", ":"))}


def statistics_in(properties: Mapping[str, str]) -> Statistics | None:
    """The statistics among the properties of a table or partition, of whatever content; ``None`` where there are none.

    What cannot be read counts as nothing, as figures are only ever additional.
    """
    try:
        data = json.loads(properties[PROPERTY])
        columns = {name: ColumnStatistics(**one) for name, one in data.pop("columns").items()}
        return Statistics(**data, columns=columns)
    except (KeyError, ValueError, TypeError, AttributeError):
        return None


def is_reserved(key: str) -> bool:
    """Whether a property is kept by the catalog itself, and not the user's to set."""
    return key.lower().startswith(PROPERTY)


def without_statistics(properties: Mapping[str, str]) -> dict[str, str]:
    """The properties that are the user's."""
    return {key: value for key, value in properties.items() if not is_reserved(key)}


def digest(parts: Iterable[tuple[object, ...]]) -> str:
    """A short text that differs where the parts, which hold texts and numbers, differ. Linear in their number."""
    found = hashlib.sha256()
    for part in parts:
        found.update(json.dumps(part).encode() + b"\n")
    return found.hexdigest()[:32]
