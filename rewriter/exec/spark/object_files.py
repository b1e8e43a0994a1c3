"""Files of object stores on Spark, which reads them by a client of Hadoop: ``s3://`` is ``s3a://`` there.

The client's jars are not in PySpark; its options and credentials are Spark's (``spark.hadoop.fs.s3a.…``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING
from urllib.parse import quote

from rewriter.errors import EngineError, NotSupportedError
from rewriter.uris import bucket_and_key, is_uri

if TYPE_CHECKING:
    from rewriter.exec.engine import Relation, ScanFile

#: Hadoop's words where it has no client for a scheme.
_NO_CLIENT = re.compile(r"Class org\.apache\.hadoop\.fs\.s3a\.\S+ not found|No FileSystem for scheme \"?s3a")


def spark_uri(path: str) -> str:
    """Returns a URI as Spark reads it.

    >>> spark_uri("s3://bucket/a b/c=%2F")
    's3a://bucket/a%20b/c=%252F'
    """
    return "s3a://" + quote(bucket_and_key(path), safe="/-_.!~*'()=:@&+$,;")


def path_sql(path: str) -> str:
    """Returns the SQL for a path as the catalog has it, from the SQL for one that Spark has decoded."""
    return f"regexp_replace({path}, '^s3a://', 's3://')"


def stored_sizes(relation: Relation) -> dict[str, tuple[int, int]]:
    """Returns the sizes of files in object stores, and the times of their last change in milliseconds, 0 if not
    known. No request is made.
    """
    return {file.path: (_size(file), max(file.modified, 0) // 10**6) for file in relation.files if is_uri(file.path)}


def _size(file: ScanFile) -> int:
    return file.bytes if file.part is None else file.part.file_bytes


def refuse_python_reader(paths: Iterable[str], format: str) -> None:
    """Raises ``NotSupportedError`` for files that would be read in Spark's Python workers, which do not have
    this session's options of object stores.
    """
    path = next(filter(is_uri, paths), None)
    if path is not None:
        raise NotSupportedError(
            f"Spark does not read {format} files in an object store: {path}.",
            condition="OBJECT_STORE_UNSUPPORTED",
            sqlstate="0A000",
            object=path,
            hint="Use the DuckDB engine (engine duckdb), or another format.",
        )


def missing_client(text: str) -> EngineError | None:
    """Returns our error if a message of Spark's says that it has no client for an object store."""
    if _NO_CLIENT.search(text) is None:
        return None
    return EngineError(
        "This Spark has no client for s3a://, by which it reads object stores.",
        condition="OBJECT_STORE_CLIENT_NOT_FOUND",
        object="s3a",
        hint="Add Hadoop's jars to Spark: spark.jars.packages = org.apache.hadoop:hadoop-aws of Spark's version of "
        "Hadoop; or use the DuckDB engine.",
    )
