"""Measures whose columns in the tables of a fact have another type than in the cube."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from rewriter.catalog.model.wider_types import is_wider
from rewriter.planner.cover.choose_facts import table_of

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Cube, Fact
    from rewriter.planner.scope.blocks import CatalogReader, CubeSource


def rounding_tables(
    cube: Cube, facts: Sequence[Fact], reader: CatalogReader, columns: Collection[str]
) -> Iterator[str]:
    """Yields the storage tables of facts that store some of the columns in a type that rounds their sums."""
    if any(m.rollup_type != m.type and m.name in columns for m in cube.measures):
        for fact in facts:
            for storage_table in fact.tables:
                if not set(columns).isdisjoint(cube.rounded_sums(table_of(reader, storage_table))):
                    yield storage_table.table


def widened_measures(source: CubeSource, reader: CatalogReader) -> Iterator[str]:
    """Yields the measures that have a wider type than the cube's in some tables."""
    tables = [table_of(reader, storage_table) for fact in source.facts for storage_table in fact.tables]
    stored = [{column.name.lower(): column.type for column in table.columns} for table in tables]
    for measure in source.cube.measures:
        name = measure.name.lower()
        if any(is_wider(type_, measure.type) for type_ in {types.get(name, measure.type) for types in stored}):
            yield measure.name
