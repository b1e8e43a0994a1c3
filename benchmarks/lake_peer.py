"""The peers' questions to tables of Delta Lake and Iceberg, run by the interpreter that ``LAKE_PYTHON`` names.

Both hold the hours, partitioned by the hour, as in our table. Each table is opened once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, QueryBuilder, write_deltalake
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from benchmarks.questions import (
    QUESTIONS,
    Contender,
    Question,
    answered,
    files_given,
    over_partitions,
    partition_bounds,
    print_contenders,
    rows_of,
)

COLUMNS = ("carrier", "flights", "departures", "distance", "delay", "worst_delay", "departed", "dt")


def delta(folder: Path, hours: pa.Table) -> DeltaTable:
    """Writes the hours as a Delta table and returns it."""
    write_deltalake(folder, hours, partition_by=["dt"])
    return DeltaTable(folder)


def iceberg(folder: Path, hours: pa.Table) -> Table:
    """Writes the hours as an Iceberg table in a catalog in SQLite and returns it."""
    folder.mkdir()
    catalog = SqlCatalog("peers", uri=f"sqlite:///{folder / 'catalog.db'}", warehouse=f"file://{folder}")
    catalog.create_namespace("peers")
    table = catalog.create_table("peers.hours", hours.schema)
    with table.update_spec() as partitioning:
        partitioning.add_identity("dt")
    table.append(hours)
    return table


def delta_by_duckdb(table: DeltaTable) -> Callable[[Question], Sequence[Any]]:
    """Returns how DuckDB answers over the dataset of a Delta table."""
    connection = duckdb.connect()
    connection.register("hours", table.to_pyarrow_dataset())
    return lambda question: connection.execute(over_partitions(question, "hours")).fetchall()


def delta_by_itself(table: DeltaTable) -> Callable[[Question], Sequence[Any]]:
    """Returns how the query engine of deltalake answers."""
    builder = QueryBuilder().register("hours", table)
    return lambda question: rows_of(pa.table(builder.execute(over_partitions(question, "hours")).read_all()))


def iceberg_by_duckdb(table: Table) -> Callable[[Question], Sequence[Any]]:
    """Returns how DuckDB answers over the rows of an Iceberg scan."""
    connection = duckdb.connect()

    def answer(question: Question) -> Sequence[Any]:
        condition = " AND ".join(f"dt {bound}" for bound in partition_bounds(question))
        connection.register("hours", table.scan(condition, COLUMNS).to_arrow())
        return connection.execute(over_partitions(question, "hours")).fetchall()

    return answer


def contender(label: str, setup: str, answer: Callable[[Question], Sequence[Any]]) -> Contender:
    """Returns the answers to all questions."""
    return Contender(label, setup, tuple(answered(lambda asked=asked: answer(asked)) for asked in QUESTIONS))


def main() -> None:
    """Prints the answers of Delta Lake and of Iceberg."""
    files = files_given()
    hours = pq.read_table(files.hours)
    folder = Path(files.folder)
    delta_table, iceberg_table = delta(folder / "delta", hours), iceberg(folder / "iceberg", hours)
    delta_name, iceberg_name = f"deltalake {version('deltalake')}", f"pyiceberg {version('pyiceberg')}"
    partitioned = "the hours, partitioned by dt"
    scanned = f"{partitioned}; table.scan(condition on dt).to_arrow(), read by DuckDB"
    print_contenders(
        (
            contender(
                f"{delta_name}, by DuckDB", f"{partitioned}; to_pyarrow_dataset() once", delta_by_duckdb(delta_table)
            ),
            contender(f"{delta_name}, QueryBuilder", partitioned, delta_by_itself(delta_table)),
            contender(f"{iceberg_name}, by DuckDB", scanned, iceberg_by_duckdb(iceberg_table)),
        )
    )


if __name__ == "__main__":
    main()
