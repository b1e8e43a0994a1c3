"""The data sources that each session of Spark registers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rewriter.exec.spark import single_column_csv, worker_files, writer


def data_sources() -> Iterator[Any]:
    """Yields the classes of the data sources."""
    for module in (writer, single_column_csv, worker_files):
        yield module.data_source()
