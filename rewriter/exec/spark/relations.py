"""Relations as temporary views of Spark.

Files are passed as a manifest: a directory with ``_spark_metadata/0``, which Spark's file sources read instead of
listing (0.5 s, not 80 s, for 6,936 directories). Partition values come from the paths if these spell them, otherwise
from a join on the file's path.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import quote

from rewriter.catalog.model.objects import Column
from rewriter.data_formats import DATA_FORMATS
from rewriter.errors import EngineError
from rewriter.exec.data_files import check_usable, common_header, is_read_by_us, unreadable
from rewriter.exec.file_groups import (
    PathGroup,
    Scan,
    ValueRun,
    by_leading_values,
    by_value,
    is_managed,
    scan,
    selections_of,
)
from rewriter.exec.formats.csv import delimiter
from rewriter.exec.spark.object_files import path_sql, refuse_python_reader, spark_uri, stored_sizes
from rewriter.exec.spark.session_kinds import functions_of, is_connect
from rewriter.exec.spark.single_column_csv import csv_lines
from rewriter.exec.spark.worker_files import worker_rows
from rewriter.exec.translate.store_assignment import SPARK
from rewriter.uris import is_uri

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession
    from pyspark.sql.types import DataType, StructType

    from rewriter.exec.engine import Relation, ScanFile

#: The key of Spark's metadata that declares a string column as CHAR or VARCHAR.
DECLARED_TYPE = "__CHAR_VARCHAR_TYPE_STRING"
_FILE = "rewriter_file"
_VALUE = "rewriter_value_"
#: The values of a part of a packed file, as the catalog knows them and as a row of the file has them.
_STORED, _IN_FILE = "rewriter_stored_", "rewriter_in_file_"
_BROADCAST = "spark.sql.autoBroadcastJoinThreshold"
#: The most DataFrames that are kept, and the most files of all of them together.
_MOST_FRAMES, _MOST_FILES = 128, 50_000
#: Types of columns that must not be filtered in files of a format: Spark would lose rows. Parquet's filter cuts a
#: decimal off that is too long for the smaller decimals of a file. ORC's reader orders -0.0 before 0.0: it skips the
#: rows of one where a condition names the other. Such a column is read as an expression, which no filter enters.
_UNFILTERED_TYPES: Mapping[str, tuple[str, ...]] = {"parquet": ("decimal",), "orc": ("float", "double")}
#: Spark takes a quoted empty field as NULL, too, unless NULL has another text.
_NO_TEXT = "\x01NULL\x01"


class KeptFrames:
    """DataFrames over files that never change, of a classic Spark: what a query reads, as long as other queries are
    likely to read it, too. A DataFrame has looked at its manifest, and does not need it any more.

    The key is what the DataFrame is made of, with the session. Entries that were used longest ago are dropped.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._frames: OrderedDict[tuple[object, ...], tuple[DataFrame, int]] = OrderedDict()

    def get(self, key: tuple[object, ...], files: int, make: Callable[[], DataFrame]) -> DataFrame:
        """Returns the DataFrame of a key over so many files, which ``make`` makes if it is not there."""
        with self._lock:
            frame, _ = self._frames.get(key, (None, 0))
            if frame is not None:
                self._frames.move_to_end(key)
                return frame
        frame = make()
        with self._lock:
            self._frames[key] = frame, files
            while len(self._frames) > _MOST_FRAMES or sum(size for _, size in self._frames.values()) > _MOST_FILES:
                self._frames.popitem(last=False)
        return frame


class Views:
    """The views of one query's relations, and the manifests behind them. ``close`` removes both, and calls
    ``end_session`` if the session is of this query alone.
    """

    def __init__(
        self,
        session: SparkSession,
        directory: str,
        kept: KeptFrames,
        end_session: Callable[[SparkSession], None] | None = None,
    ) -> None:
        self._session = session
        self._end_session = end_session
        #: Spark Connect looks at a manifest each time.
        self._kept = None if is_connect(session) else kept
        self._directory = tempfile.mkdtemp(prefix="scan-", dir=directory)
        self._names: list[str] = []
        self._manifests = 0
        #: Sizes and times of files in object stores.
        self._sizes: dict[str, tuple[int, int]] = {}

    def create(self, relation: Relation) -> None:
        """Creates the view. Reads no data; about 70 µs a file. Raises ``EngineError`` for files that do not exist."""
        if relation.view is not None:
            frame = self._session.table(f"global_temp.{identifier(relation.view.name)}")
        elif self._kept is not None and is_managed(relation):
            key = (id(self._session), self._session.conf.get(_BROADCAST), replace(relation, name=""))
            frame = self._kept.get(key, len(relation.files), lambda: _declared(self._named(relation), relation))
        else:
            frame = _declared(self._named(relation), relation)
        name = identifier(relation.name)
        frame.createOrReplaceTempView(name)
        self._names.append(relation.name)

    def close(self) -> None:
        shutil.rmtree(self._directory, ignore_errors=True)
        if self._end_session is not None:
            self._end_session(self._session)
            return
        for name in self._names:
            self._session.catalog.dropTempView(name)

    def _named(self, relation: Relation) -> DataFrame:
        """Returns the rows of the files, under the names of the relation's columns."""
        stored = relation.as_stored()
        frame = self._frame(stored)
        if stored is relation:
            return frame
        items = (f"{identifier(column.stored_name)} AS {identifier(column.name)}" for column in relation.all_columns)
        return frame.selectExpr(*items)

    def _frame(self, relation: Relation) -> DataFrame:
        """Returns the rows of the files, with the names that these have."""
        data_format = check_usable(relation.format)
        format = data_format.name
        self._sizes |= stored_sizes(relation)
        groups = scan(relation)
        if data_format.is_text or is_read_by_us(relation, data_format.spark):
            # With a manifest, Spark counts partition columns as columns of the file, and CSV is matched by position.
            groups = Scan((), relation.files)
        frames = [self._by_path(relation, format, group) for group in groups.by_path]
        frames += [self._by_value(relation, format, files) for files in by_value(relation, format, groups)]
        if groups.packed:
            frames.append(self._packed(relation, groups.packed))
        selections, joined_parts = selections_of(relation, groups.packed_parts)
        frames += [self._selected_parts(relation, paths, runs) for runs, paths in selections.items()]
        if joined_parts:
            frames.append(self._packed_parts(relation, joined_parts))
        if not frames:
            # Spark plans this query as empty, but not an empty list of rows.
            items = (f"CAST(NULL AS {_read_type(c.type)}) AS {identifier(c.name)}" for c in relation.all_columns)
            return self._session.sql(f"SELECT {', '.join(items)} WHERE false")
        frame = frames[0]
        for other in frames[1:]:
            frame = frame.unionAll(other)
        is_part = selections or joined_parts or (groups.by_value and relation.partition_columns)
        if is_part and self._is_small(relation):
            # Spark takes the size of whole packed files, and sees none behind the join with values.
            frame = frame.hint("broadcast")
        return frame

    def _schema(self, columns: Iterable[Column]) -> StructType | str:
        """Returns a schema of nullable columns. A Spark Connect server parses it; a classic Spark has parsed types."""
        if is_connect(self._session):
            return ", ".join(f"{identifier(column.name)} {_read_type(column.type)}" for column in columns)
        return _schema(columns)

    def _is_small(self, relation: Relation) -> bool:
        """Tests whether the files together are small enough that Spark would broadcast them if it knew their size."""
        threshold = self._session.conf.get(_BROADCAST) or ""
        return sum(file.bytes for file in relation.files) <= _bytes(threshold)

    def _by_path(self, relation: Relation, format: str, group: PathGroup) -> DataFrame:
        columns = relation.partition_columns
        levels = [Column(level, column.type) for level, column in zip(group.levels, columns, strict=True)]
        paths = [file.path for file in group.files]
        reader, stored = self._reader(relation, format, paths)
        frame = reader.schema(self._schema([*stored, *levels])).load(self._manifest(paths, format))
        items = _items(relation, format, stored)
        items += [f"{identifier(level.name)} AS {identifier(c.name)}" for level, c in zip(levels, columns, strict=True)]
        return frame.selectExpr(*items)

    def _by_value(self, relation: Relation, format: str, files: Sequence[ScanFile]) -> DataFrame:
        columns = relation.partition_columns
        paths = list(dict.fromkeys(file.path for file in files))
        frame, stored, path = self._located(relation, format, paths)
        items = _items(relation, format, stored)
        if not columns:
            return frame.selectExpr(*items)
        names = [f"{_VALUE}{number}" for number in range(len(columns))]
        schema = ", ".join(f"{name} string" for name in (_FILE, *names))
        rows = [(file.path, *file.values) for file in files]
        values = self._session.createDataFrame(rows, schema).hint("broadcast")
        # An inner join would silently lose the rows of a file without values.
        check = f"CASE WHEN known IS NULL THEN raise_error(concat('no partition values for ', {_FILE})) ELSE true END"
        located = frame.selectExpr(*items, f"{path} AS {_FILE}")
        rows_with_values = located.join(values.selectExpr("*", "true AS known"), _FILE, "left").where(check)
        casts = [
            f"CAST({name} AS {_read_type(column.type)}) AS {identifier(column.name)}"
            for name, column in zip(names, columns, strict=True)
        ]
        return rows_with_values.selectExpr(*(identifier(column.name) for column in relation.columns), *casts)

    def _packed(self, relation: Relation, paths: Sequence[str]) -> DataFrame:
        """Returns the rows of packed files that are all read; the files store the values of the partition columns."""
        if self._kept is None or not is_managed(relation):
            return self._read_packed(relation, paths)
        key = (id(self._session), replace(relation, name="", files=()), tuple(paths))
        return self._kept.get(key, len(paths), lambda: self._read_packed(relation, paths))

    def _read_packed(self, relation: Relation, paths: Sequence[str]) -> DataFrame:
        reader, stored = self._reader(relation, "parquet", paths)
        reader = reader.option("recursiveFileLookup", "true").schema(
            self._schema([*stored, *relation.partition_columns])
        )
        partition_items = [identifier(column.name) for column in relation.partition_columns]
        return reader.load(self._manifest(paths, "parquet")).selectExpr(
            *_items(relation, "parquet", stored), *partition_items
        )

    def _selected_parts(self, relation: Relation, paths: Sequence[str], runs: Sequence[ValueRun]) -> DataFrame:
        """Returns the rows of packed files in the partitions of these runs, whose values the files store."""
        return self._packed(relation, paths).where(_is_in_runs(relation.partition_columns, runs))

    def _packed_parts(self, relation: Relation, files: Sequence[ScanFile]) -> DataFrame:
        """Returns the rows of parts of packed files, joined with the values of their partitions by the file and the
        stored values. Rows of other partitions match nothing.
        """
        functions = functions_of(self._session)
        col, concat, expr, lit = functions.col, functions.concat, functions.expr, functions.lit
        columns, stored_columns = relation.partition_columns, relation.stored_partition_columns
        paths = list(dict.fromkeys(file.path for file in files))
        frame, stored, path = self._located(relation, "parquet", paths, stored_columns)
        names = [f"{_VALUE}{number}" for number in range(len(columns))]
        stored_names = [f"{_STORED}{number}" for number in range(len(stored_columns))]
        schema = ", ".join(f"{name} string" for name in (_FILE, *names, *stored_names))
        rows = [(file.path, *file.values, *file.part.values) for file in files if file.part is not None]
        typed_names = zip((*names, *stored_names), (*columns, *stored_columns), strict=True)
        typed = [f"CAST({name} AS {_read_type(column.type)}) AS {name}" for name, column in typed_names]
        values = self._session.createDataFrame(rows, schema).selectExpr(_FILE, *typed).alias("v").hint("broadcast")
        placed = [f"{identifier(c.name)} AS {_IN_FILE}{number}" for number, c in enumerate(stored_columns)]
        located = frame.selectExpr(*_items(relation, "parquet", stored), *placed, f"{path} AS {_FILE}")
        # Rows of a file under another name would match nothing, and silently be lost.
        unnamed = functions.raise_error(concat(lit("no partition values for "), col(_FILE)))
        located = located.where(functions.when(col(_FILE).isin(paths), lit(True)).otherwise(unnamed)).alias("f")
        same_values = [f"f.{_IN_FILE}{number} <=> v.{name}" for number, name in enumerate(stored_names)]
        joined = located.join(values, expr(" AND ".join([f"f.{_FILE} = v.{_FILE}", *same_values])))
        items = [f"f.{identifier(column.name)}" for column in relation.columns]
        items += [f"v.{name} AS {identifier(column.name)}" for name, column in zip(names, columns, strict=True)]
        return joined.selectExpr(*items)

    def _located(
        self, relation: Relation, format: str, paths: Sequence[str], further_columns: Sequence[Column] = ()
    ) -> tuple[DataFrame, Sequence[Column], str]:
        """Returns the rows of the files, their columns, and the SQL for the path of a row's file."""
        data_format = DATA_FORMATS[format]
        if is_read_by_us(relation, data_format.spark):
            refuse_python_reader(paths, format)
            stored = [Column(c.name, "string") if data_format.is_text else c for c in relation.columns]
            schema = self._schema([*stored, Column(_FILE, "string")])
            return worker_rows(self._session, data_format, paths, relation, schema), stored, _FILE
        reader, stored = self._reader(relation, format, paths)
        if format == "csv" and len(stored) == 1:
            refuse_python_reader(paths, "CSV, of one column,")
            schema = self._schema([*stored, Column(_FILE, "string")])
            return csv_lines(self._session, paths, delimiter(relation.options), schema), stored, _FILE
        # Without this option Spark would take levels of these paths as columns, and refuse paths of different shapes.
        reader = reader.option("recursiveFileLookup", "true").schema(self._schema([*stored, *further_columns]))
        frame = reader.load(self._manifest(paths, format))
        # Spark returns a URI; url_decode would turn a plus sign into a space.
        path = "regexp_replace(url_decode(replace(_metadata.file_path, '+', '%2B')), '^file:/+', '/')"
        return frame, stored, path_sql(path) if any(map(is_uri, paths)) else path

    def _reader(self, relation: Relation, format: str, paths: Sequence[str]) -> tuple[DataFrameReader, list[Column]]:
        """Returns a reader for the format, and the columns as the files store them."""
        reader = self._session.read.format(format)
        if format == "csv":
            separator = delimiter(relation.options)
            header = common_header(paths, separator)
            reader = reader.options(
                header="true", sep=separator, quote='"', escape='"', multiLine="true", mode="FAILFAST",
                nullValue=_NO_TEXT, encoding="UTF-8",
            )  # fmt: skip
            return reader, [Column(name, "string") for name in header]
        if format == "json":
            return reader.options(mode="FAILFAST"), [
                column if _is_parsed(column) else Column(column.name, "string") for column in relation.columns
            ]
        if any(re.search("float|double", column.type.lower()) for column in relation.all_columns):
            # The filters of Parquet's library by a dictionary or a Bloom filter take 0.0 and -0.0 for different values.
            # The rows of one would be lost where a condition names the other. Minimum and maximum still prune.
            reader = reader.options(**{f"parquet.filter.{kind}.enabled": "false" for kind in ("dictionary", "bloom")})
        return reader, list(relation.columns)

    def _manifest(self, paths: Iterable[str], format: str) -> str:
        """Returns a directory that names the files, in the format of Spark's file sink."""
        self._manifests += 1
        directory = os.path.join(self._directory, str(self._manifests))
        os.makedirs(os.path.join(directory, "_spark_metadata"))
        with open(os.path.join(directory, "_spark_metadata", "0"), "w", encoding="ascii") as file:
            file.write("v1")
            for path in paths:
                file.write("\n" + _manifest_line(path, format, self._sizes.get(path)))
        return directory


def _bytes(text: str) -> int:
    """Returns the bytes of a size in the spelling of Spark's settings (``10MB``, ``10485760b``, ``-1``); -1 for any
    other spelling.
    """
    size = re.fullmatch(r"(-?[0-9]+)([kmgtp]?)b?", text.strip().lower())
    return int(size[1]) * 1024 ** " kmgtp".index(size[2] or " ") if size else -1


def _manifest_line(path: str, format: str, known: tuple[int, int] | None) -> str:
    try:
        size, milliseconds = _status(path) if known is None else known
    except OSError as error:
        raise EngineError(
            f"The file {path} cannot be read: {error.strerror}.",
            condition="FAILED_READ_FILE.FILE_NOT_EXIST",
            sqlstate="KD001",
            object=path,
            hint="The catalog lists this file, but another program removed it.",
        ) from None
    if size == 0 and not DATA_FORMATS[format].is_text:
        # Spark would skip the file, and its rows would be missing.
        raise unreadable(path, f"it is empty, which is not a valid {format} file")
    entry = {
        "path": spark_uri(path) if is_uri(path) else file_uri(path),
        "size": size,
        "isDir": False,
        "modificationTime": milliseconds,
        "blockReplication": 1,
        "blockSize": 128 * 1024 * 1024,
        "action": "add",
    }
    return json.dumps(entry)


def _status(path: str) -> tuple[int, int]:
    status = os.stat(path)
    return status.st_size, int(status.st_mtime * 1000)


def file_uri(path: str) -> str:
    """Returns a path as Spark reads it."""
    return "file:" + quote(path, safe="/-_.!~*'()=:@&+$,;")


def _is_in_runs(columns: Sequence[Column], runs: Sequence[ValueRun]) -> str:
    """Returns the SQL that the partition columns have the values of one of these runs: one call of Spark, where a
    column object would cost ten for each of its parts.

    No column is equal to one literal: Spark would put that literal into the other conditions of a query, compute them
    for a partition that they exclude, and raise the error of a value that no row has.
    """
    *leading_columns, last = columns
    alternatives = []
    for leading, runs_of_leading in by_leading_values(runs).items():
        values = [run.first for run in runs_of_leading if run.first == run.last and run.first is not None]
        ranges = [(run.first, run.last) for run in runs_of_leading if run.first != run.last]
        if len(values) == 1:
            ranges.append((values[0], values[0]))
        tests = [_is_between(last, first, latest) for first, latest in ranges]
        if len(values) > 1:
            tests.append(f"{identifier(last.name)} IN ({', '.join(_value(last, value) for value in values)})")
        if any(run.first is None for run in runs_of_leading):
            tests.append(f"{identifier(last.name)} IS NULL")
        conditions = [
            f"{identifier(column.name)} IS NULL" if value is None else _is_between(column, value, value)
            for column, value in zip(leading_columns, leading, strict=True)
        ]
        alternatives.append(" AND ".join([*conditions, f"({' OR '.join(tests)})"]))
    return " OR ".join(f"({alternative})" for alternative in alternatives)


def _is_between(column: Column, first: str | None, last: str | None) -> str:
    name = identifier(column.name)
    return f"{name} >= {_value(column, first)} AND {name} <= {_value(column, last)}"


def _value(column: Column, value: str | None) -> str:
    """Returns the SQL of a partition's value. Without one, it is NULL, and no row is equal to it."""
    # Spark would put the value of a setting in the place of its name in ``${…}``.
    literal = "NULL" if value is None else SPARK.literal(value).replace("$", "\\u0024")
    return f"CAST({literal} AS {_read_type(column.type)})"


def _declared(frame: DataFrame, relation: Relation) -> DataFrame:
    """Returns the frame with its CHAR and VARCHAR columns declared to Spark, which pads values compared with CHAR."""
    col = functions_of(frame).col
    types = {c.name: c.type.lower() for c in relation.all_columns if c.type.lower().startswith(("char", "varchar"))}
    if not types:
        return frame
    metadata = {name: {DECLARED_TYPE: type_} for name, type_ in types.items()}
    columns = ((c.name, col(identifier(c.name))) for c in relation.all_columns)
    return frame.select(*(column.alias(n, metadata=metadata[n]) if n in types else column for n, column in columns))


def _items(relation: Relation, format: str, stored: Sequence[Column]) -> list[str]:
    """Returns the data columns by name, in the relation's order. Text is cast, except where Spark's reader
    parses it.
    """
    columns_by_name = {column.name.lower(): column.name for column in stored}
    items = []
    for column in relation.columns:
        name = columns_by_name.get(column.name.lower())
        value = "NULL" if name is None else identifier(name)
        if name is None or (DATA_FORMATS[format].is_text and not (format == "json" and _is_parsed(column))):
            value = f"CAST({value} AS {_read_type(column.type)})"
        elif column.type.lower().startswith(_UNFILTERED_TYPES.get(format, ())):
            value = f"if(isnull({value}), NULL, {value})"
        items.append(f"{value} AS {identifier(column.name)}")
    return items


def _is_parsed(column: Column) -> bool:
    """Tests whether Spark's reader parses the values of JSON: values with parts, and base64."""
    return column.type.lower().startswith(("array", "map", "struct", "binary"))


def _schema(columns: Iterable[Column]) -> StructType:
    from pyspark.sql.types import StructField, StructType

    return StructType([StructField(column.name, _parsed_type(_read_type(column.type)), True) for column in columns])


@cache
def _parsed_type(type_name: str) -> DataType:
    """Returns a type of Spark, which parses it: that takes half a millisecond."""
    from pyspark.sql.types import _parse_datatype_string

    return _parse_datatype_string(type_name)


def _read_type(type_name: str) -> str:
    """Returns the type to read a column as: Spark reads CHAR and VARCHAR as strings, and refuses them in a schema."""
    return "string" if type_name.lower().startswith(("char", "varchar")) else type_name


def identifier(name: str) -> str:
    """Returns the name in Spark's quotes."""
    return "`" + name.replace("`", "``") + "`"
