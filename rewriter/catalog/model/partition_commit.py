"""Partition commit: when a partition that a stream fills counts for cubes, as properties of its table declare it.

A partition that a stream has begun is *open*: queries over the table read its rows, and covers do not use it. A trigger
commits it: all its rows become visible to covers at once. The properties follow Flink's
``sink.partition-commit.*``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from rewriter.errors import AnalysisError
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import PartitionValues, Table

_PREFIX = "rewriter.partition_commit."
_TRIGGER, _DELAY, _IDLE, _POLICIES = (f"{_PREFIX}{name}" for name in ("trigger", "delay", "idle_timeout", "policies"))
_KEYS = (_TRIGGER, _DELAY, _IDLE, _POLICIES)

_PARTITION_TIME, _PROCESS_TIME = "partition time", "process time"
METASTORE, SUCCESS_FILE = "metastore", "success-file"

_DURATION = re.compile(r"(\d{1,9}) *(second|minute|hour|day)s?")
_MICROSECONDS = {"second": 1_000_000, "minute": 60_000_000, "hour": 3_600_000_000, "day": 86_400_000_000}


@dataclass(frozen=True)
class PartitionCommitRule:
    """When the open partitions of a table are committed, and what is done then. Times are in microseconds.

    ``by_partition_time``: when the watermark of all streams has passed the end of the partition's period by ``delay``.
    Streams without a batch for ``idle_timeout`` do not hold the watermark back. Otherwise by process time: when the
    partition has received no rows for ``delay``, and its period, if its table has one, is over.

    ``policies`` are the names of the policies that run after the commit in the catalog, which comes first.
    """

    by_partition_time: bool
    delay: int = 0
    idle_timeout: int | None = None
    policies: tuple[str, ...] = ()


@dataclass(frozen=True)
class CommittedPartition:
    """A partition whose commit the policies of its ``table`` are to follow. ``values`` are the values of its partition
    columns, as canonical texts.

    ``commit`` is the number of the commit in the catalog. ``late`` is True if the partition was committed before, and
    a stream has added rows since. ``rows`` is ``None`` if the number is unknown; ``bytes`` are the bytes of its files.
    """

    table: Table
    values: PartitionValues
    commit: int
    late: bool
    rows: int | None
    bytes: int


def rule_of(properties: Mapping[str, str]) -> PartitionCommitRule | None:
    """Returns the rule that a table's properties declare; ``None`` if partitions count from their first batch on."""
    trigger = properties.get(_TRIGGER)
    if trigger is None:
        return None
    idle = properties.get(_IDLE)
    names = [name.strip() for name in properties.get(_POLICIES, METASTORE).split(",")]
    return PartitionCommitRule(
        by_partition_time=trigger == _PARTITION_TIME,
        delay=_duration(properties.get(_DELAY, "0 seconds")) or 0,
        idle_timeout=None if idle is None else _duration(idle),
        policies=tuple(name for name in names if name != METASTORE),
    )


def is_about_partition_commit(key: str) -> bool:
    """Returns whether a property is one of partition commit, in any case."""
    return key.lower().startswith(_PREFIX)


def checked_partition_commit(key: str, value: str, table: Table) -> tuple[str, str]:
    """Returns a property in its canonical spelling.

    Raises ``AnalysisError`` INVALID_PARTITION_COMMIT for an unknown key or value, and for a table without partitions or
    whose files the catalog does not own.
    """
    name, text = key.lower(), " ".join(value.lower().split())
    if table.external or not table.partition_columns:
        raise _invalid(
            f"The table {table.name} has no partition commit: it is not a managed, partitioned table.",
            key,
            "Streams load managed tables only.",
        )
    if name not in _KEYS:
        raise _invalid(f"There is no property {key}.", key, f"The properties are {', '.join(_KEYS)}.")
    if name == _TRIGGER:
        if text not in (_PARTITION_TIME, _PROCESS_TIME):
            raise _invalid(f"'{value}' is not a trigger.", key, f"Write '{_PARTITION_TIME}' or '{_PROCESS_TIME}'.")
        return name, text
    if name == _POLICIES:
        names = [policy.strip() for policy in value.split(",")]
        if METASTORE not in names or "" in names or len(set(names)) < len(names):
            raise _invalid(
                f"'{value}' is not a list of policies.",
                key,
                f"Separate different names by commas. {METASTORE} is one of them, and comes first: "
                f"'{METASTORE}, {SUCCESS_FILE}'.",
            )
        return name, ", ".join(names)
    if _duration(text) is None:
        raise _invalid(f"'{value}' is not a duration.", key, "Write a whole number and a unit, such as '10 minutes'.")
    return name, text


def _duration(text: str) -> int | None:
    duration = _DURATION.fullmatch(text)
    return None if duration is None else int(duration[1]) * _MICROSECONDS[duration[2]]


def _invalid(message: str, key: str, hint: str) -> AnalysisError:
    return AnalysisError(message, condition="INVALID_PARTITION_COMMIT", object=key, hint=hint)
