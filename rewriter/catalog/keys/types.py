"""The types that a partition column may have, read from Spark's spelling."""

from __future__ import annotations

import re
from functools import lru_cache

from rewriter.errors import NotSupportedError
from rewriter.lazy_dataclass import dataclass

_ALIASES = {
    "byte": "tinyint",
    "short": "smallint",
    "integer": "int",
    "long": "bigint",
    "real": "float",
    "dec": "decimal",
    "numeric": "decimal",
    "timestamp_ltz": "timestamp",
}

#: Bytes of the two's complement of each integer type.
INTEGER_WIDTHS = {"tinyint": 1, "smallint": 2, "int": 4, "bigint": 8}

_PLAIN = frozenset({*INTEGER_WIDTHS, "string", "date", "timestamp", "boolean", "double", "float"})
_SHAPE = re.compile(r"\s*([a-z_]+)\s*(?:\(\s*([0-9]{1,9})\s*(?:,\s*([0-9]{1,9})\s*)?\))?\s*", re.IGNORECASE)

_ALLOWED = (
    "string, varchar(n), char(n), tinyint, smallint, int, bigint, decimal(p,s), date, "
    "timestamp, boolean, double or float"
)
#: Spark names a partition after the bytes read as UTF-8, so values of different bytes become one partition.
_NO_BINARY = (
    "Partition names are text and cannot hold arbitrary bytes: use STRING, with hex(…) or base64(…) of the value."
)


@dataclass(frozen=True)
class PartitionType:
    """A type without aliases: ``name`` is Spark's bare word, ``length`` the characters of char and varchar."""

    name: str
    length: int = 0
    precision: int = 0
    scale: int = 0

    def __str__(self) -> str:
        if self.name == "decimal":
            return f"DECIMAL({self.precision},{self.scale})"
        return f"{self.name.upper()}({self.length})" if self.length else self.name.upper()


@lru_cache(maxsize=512)
def partition_type(text: str) -> PartitionType:
    """Returns the partition type that ``text`` spells (``int``, ``varchar(3)``, ``decimal(10,2)``, aliases included).

    Raises ``NotSupportedError`` INVALID_PARTITION_COLUMN_DATA_TYPE for types that no partition column may have.
    """
    match = _SHAPE.fullmatch(text)
    if match is not None:
        word, first, second = match[1].lower(), match[2], match[3]
        name = _ALIASES.get(word, word)
        if name in _PLAIN and first is None:
            return PartitionType(name)
        if name in ("char", "varchar") and first is not None and second is None and int(first) > 0:
            return PartitionType(name, length=int(first))
        if name == "decimal":
            precision, scale = int(first or 10), int(second or 0)
            if 0 < precision <= 38 and scale <= precision:
                return PartitionType(name, precision=precision, scale=scale)
    binary = text.strip().lower() == "binary"
    raise NotSupportedError(
        f'cannot use "{text.upper()}" for a partition column',
        condition="INVALID_PARTITION_COLUMN_DATA_TYPE",
        sqlstate="0A000",
        hint=_NO_BINARY if binary else f"Partition columns are {_ALLOWED}.",
    )
