"""Plain SQL over the base rows of a history's models.

It uses neither planner nor catalog. The rows are in one file for each cube, and for each fact that has its own rows for
the same events. A separate DuckDB engine reads them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from rewriter.catalog.model.objects import Column
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.exec.engine import EngineQuery, Relation, ScanFile
from rewriter.exec.sql_types import arrow_type, parse_type
from rewriter.runtime.result import spark_type
from rewriter.timeline.periods import UpdatePeriod

from .histories import History
from .model import Model
from .periods import period, wall
from .queries import WEIGHT, ZONE_COLUMNS
from .schemas import CubeSchema, FactSchema


@dataclass(frozen=True)
class Rows:
    """Names and types of columns, rows, and whether some rows are missing."""

    columns: list[tuple[str, str]]
    rows: list[tuple[Any, ...]]
    missing: bool = False


@dataclass
class Reference:
    """Runs plain SQL over the rows of a history's models, kept in files below ``folder``."""

    folder: Path
    engine: DuckDBEngine = field(default_factory=DuckDBEngine)
    relations: tuple[Relation, ...] = ()
    _serial: int = 0

    def load(self, history: History) -> None:
        """Reads the present rows of the history."""
        self._serial += 1
        relations = [self._rows(model, None) for model in history.models.values()]
        relations += [self._rows(model, fact) for model, fact in _own_rows(history)]
        lookup = history.schema.lookup
        columns = tuple(Column(column.name, column.type) for column in lookup)
        relations.append(self._file("lookup", columns, history.schema.lookup_rows))
        self.relations = tuple(relations)

    def answer(self, sql: str) -> Rows:
        """Returns the result of plain SQL."""
        used = tuple(relation for relation in self.relations if relation.name in sql)
        reader = self.engine.execute(EngineQuery(sql, used))
        table = reader.read_all()
        columns = [(field.name, spark_type(field.type)) for field in table.schema]
        return Rows(columns, list(zip(*(column.to_pylist() for column in table.columns), strict=True)))

    def _rows(self, model: Model, fact: FactSchema | None) -> Relation:
        cube, counter = model.cube, model.cube.counter
        position = None if counter is None else cube.columns.index(counter)
        columns = [Column(column.name, column.type) for column in cube.columns]
        columns += [Column(cube.time, "timestamp"), Column(WEIGHT, "bigint")]
        zoned = ZONE_COLUMNS if cube.zone != "UTC" else ()
        columns += [Column(name, "timestamp") for name in zoned]
        held, base = (model.rows, cube.base) if fact is None else (model.held_by(fact), fact.base)
        timed = [(row, None if o is None else base.start(o)) for o, rows in held.items() for row in rows]
        weight = (lambda row: 1) if position is None else (lambda row: row[position] or 0)
        rows = [(*row, time, weight(row), *(_in_zone(cube.zone, time) if zoned else ())) for row, time in timed]
        return self._file(relation_name(cube, fact), tuple(columns), rows)

    def _file(self, name: str, columns: tuple[Column, ...], rows: Any) -> Relation:
        path = self.folder / f"{name}_{self._serial}.parquet"
        fields = [pa.field(column.name, arrow_type(parse_type(column.type))) for column in columns]
        cells = list(zip(*rows, strict=True)) or [()] * len(columns)
        arrays = [pa.array(values, field.type) for values, field in zip(cells, fields, strict=True)]
        pyarrow.parquet.write_table(pa.Table.from_arrays(arrays, schema=pa.schema(fields)), path)
        return Relation(name, "parquet", columns, (), (ScanFile(str(path), (), path.stat().st_size),))


@cache
def _in_zone(zone: str, time: int | None) -> tuple[int | None, ...]:
    """Returns the ``ZONE_COLUMNS`` of a time."""
    if time is None:
        return (None,) * len(ZONE_COLUMNS)
    local = wall(zone, time)
    shown = (local - datetime(1970, 1, 1)) // timedelta(microseconds=1)
    hour = time - timedelta(minutes=local.minute, seconds=local.second) // timedelta(microseconds=1)
    units = (UpdatePeriod.DAILY, UpdatePeriod.WEEKLY, UpdatePeriod.MONTHLY, UpdatePeriod.QUARTERLY, UpdatePeriod.YEARLY)
    return (shown, hour, *(period(unit, zone).floor(time) for unit in units))


def relation_name(cube: CubeSchema, fact: FactSchema | None = None) -> str:
    """Returns a plain name for the relation of a cube's base rows, or for that of a fact's own rows."""
    return "".join(char if char.isascii() else "_" for char in f"rows_of_{fact.name if fact else cube.name}")


def _own_rows(history: History) -> Iterator[tuple[Model, FactSchema]]:
    """Returns the facts whose base rows differ from the cube's, though for the same events."""
    for model in history.models.values():
        yield from ((model, fact) for fact in model.cube.facts if fact.merged or fact in model.cube.coarse)
