"""Reads Hive's text files on Spark, in its Python workers, through a custom data source.

Spark without Hive has no reader for them. DuckDB reads them by the same code (``delimited_text``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from rewriter.exec.formats import delimited_text
from rewriter.exec.spark.file_source import file_rows, file_source

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

FORMAT = "rewriter_text_files"


def text_rows(
    session: SparkSession,
    paths: Sequence[str],
    columns: Sequence[tuple[str, bool]],
    options: Mapping[str, str],
    schema: StructType | str,
) -> DataFrame:
    """Returns the rows of text files: the columns as texts, then the path of the file, named by ``schema``.

    ``columns`` and ``options`` are those of ``delimited_text.read_columns``. A file that cannot be read fails the query
    with FAILED_READ_FILE.
    """
    plan = {"columns": list(columns), "options": dict(options)}
    return file_rows(session, FORMAT, paths, plan, schema)


def data_source() -> Any:
    """Returns the class of the data source, which each session has to register."""
    read_columns = delimited_text.read_columns

    def open_text(path: str) -> TextIO:
        return open(path, encoding="utf-8-sig")

    def read_file(path: str, plan: Mapping[str, Any], names: list[str]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        try:
            for batch in read_columns(path, open_text, plan["columns"], plan["options"]):
                located = [*batch.columns, pa.array([path] * batch.num_rows, pa.string())]
                yield pa.RecordBatch.from_arrays(located, names=names)
        except (OSError, ValueError) as error:
            reason = str(error).partition("\n")[0].rstrip(".")
            text = f"[FAILED_READ_FILE] The file {path} cannot be read: {reason}."
            raise ValueError(text) from None

    return file_source(FORMAT, read_file)
