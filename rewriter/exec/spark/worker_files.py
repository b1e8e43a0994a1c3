"""Reads files on Spark, in its Python workers, through a custom data source: files of formats that Spark without
further packages has no reader for, such as Hive's text files.

DuckDB reads them by the same code (``exec.formats``).
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any

from rewriter.data_formats import CSV, DATA_FORMATS, DataFormat, Reading
from rewriter.exec import formats
from rewriter.exec.formats.registry import READERS
from rewriter.exec.spark.file_source import file_rows, file_source
from rewriter.exec.sql_types import arrow_type, parse_type

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from rewriter.exec.engine import Relation

_FORMAT = "rewriter_files"
#: Formats that Spark does not read, and CSV, whose dialects it reads less strictly.
_OF_WORKERS = (CSV.name, *(name for name, format in DATA_FORMATS.items() if format.spark is Reading.OURS))


def worker_rows(
    session: SparkSession,
    data_format: DataFormat,
    paths: Sequence[str],
    relation: Relation,
    schema: StructType | str,
) -> DataFrame:
    """Returns the rows of files: the columns of the relation, as texts if the format is one of text, then the path of
    the file, named by ``schema``. A file that cannot be read fails the query with FAILED_READ_FILE.
    """
    import pyarrow as pa

    # DuckDB, for which our types are, has no BINARY.
    columns = pa.schema(
        [
            (column.name, pa.binary() if column.type.lower() == "binary" else arrow_type(parse_type(column.type)))
            for column in relation.columns
        ]
    )
    plan = {
        "format": data_format.name,
        "columns": base64.b64encode(columns.serialize()).decode(),
        "options": dict(relation.options),
    }
    return file_rows(session, _FORMAT, paths, plan, schema)


def data_source() -> Any:
    """Returns the class of the data source, which each session has to register."""
    from pyspark import cloudpickle

    # Workers need not have this package.
    cloudpickle.register_pickle_by_value(formats)
    readers = {name: reader.pieces for name, reader in READERS.items() if name in _OF_WORKERS}

    def open_bytes(path: str) -> IO[Any]:
        return open(path, "rb")

    def read_file(path: str, plan: Mapping[str, Any], names: list[str]) -> Iterator[pa.RecordBatch]:
        import base64

        import pyarrow as pa

        read_pieces = readers[plan["format"]]
        columns = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(plan["columns"])))
        try:
            for batch in () if read_pieces is None else read_pieces(path, open_bytes, columns, plan["options"]):
                located = [*batch.columns, pa.array([path] * batch.num_rows, pa.string())]
                yield pa.RecordBatch.from_arrays(located, names=names)
        except (OSError, ValueError) as error:
            reason = str(error).partition("\n")[0].rstrip(".")
            text = f"[FAILED_READ_FILE] The file {path} cannot be read: {reason}."
            raise ValueError(text) from None

    return file_source(_FORMAT, read_file)
