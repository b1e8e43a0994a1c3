"""The conditions of a query on partition columns, as a source gets them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from typing import TYPE_CHECKING

from rewriter.catalog.filters.explain import filter_text
from rewriter.catalog.filters.predicates import AllOf, AnyOf, FieldIn, FieldLike, ScanFilter
from rewriter.catalog.filters.scan_plans import PartitionFilterGenerator
from rewriter.catalog.keys.encoding import encode_value
from rewriter.catalog.keys.values import DEFAULT_PARTITION, canonical
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Column


@dataclass(frozen=True)
class PartitionPredicate:
    """A condition that is TRUE for every partition that the query can need.

    ``columns`` are the names of the partition columns that it is about, and ``text`` shows it to a person. All
    predicates of a query hold for the partitions that it needs. A source need not use them: the query tests its rows
    again.
    """

    columns: tuple[str, ...]
    text: str
    _filter: ScanFilter = field(repr=False)
    _columns: tuple[Column, ...] = field(repr=False)

    def matches(self, partition: Mapping[str, object]) -> bool:
        """Returns whether the query can need a partition, given as its values by column.

        A value is of the column's type, or a text as directories have it; ``None`` is NULL. A predicate about a column
        that is not given, or whose value is a text that tables store as NULL, excludes nothing. Raises ``DataError``
        for a value that the column cannot have. About 2 µs.
        """
        given = {name.lower(): value for name, value in partition.items()}
        if any(given.get(name.lower(), "") in ("", DEFAULT_PARTITION) for name in self.columns):
            return True
        fields = [
            encode_value(column.type, canonical(column, _text(given.get(column.name.lower()))))
            for column in self._columns
        ]
        return self._filter.holds(fields)


def predicates_of(columns: Sequence[Column], wanted: ScanFilter | None) -> tuple[PartitionPredicate, ...]:
    """Returns the conditions of a filter on partition columns: one for each part of an AND."""
    parts = wanted.parts if isinstance(wanted, AllOf) else () if wanted is None else (wanted,)
    made = []
    for part in parts:
        indexes = sorted(set(_indexes(part)))
        text = filter_text(columns, PartitionFilterGenerator(len(columns)).plan(part).plans)
        made.append(PartitionPredicate(tuple(columns[i].name for i in indexes), text, part, tuple(columns)))
    return tuple(made)


def _indexes(tree: ScanFilter) -> Iterator[int]:
    if isinstance(tree, AllOf | AnyOf):
        for part in tree.parts:
            yield from _indexes(part)
    elif isinstance(tree, FieldIn | FieldLike):
        yield tree.index
    elif hasattr(tree, "indexes"):
        yield from tree.indexes
    else:
        yield from _indexes(tree.part)


def _text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat(sep=" ")
    return str(value)
