"""Defines the macros and functions that a statement calls, in a DuckDB database, when they are first called."""

from __future__ import annotations

import re
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from rewriter.exec.translate.duckdb_macros import macros

if TYPE_CHECKING:
    import duckdb

_NAME = re.compile(r"\brw_[a-z0-9_]+")
#: A column of Arrow. DuckDB evaluates the annotations of a function, so that they name nothing that is not imported.
_Column = Any


class OwnFunctions:
    """The macros and functions of one database. A definition costs about 1 ms, and most statements call none."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        """``connection`` is used for nothing else."""
        self._connection = connection
        self._lock = threading.Lock()
        self._defined: set[str] = set()

    def define(self, sql: str) -> str:
        """Defines what a statement calls, and what that calls. Returns the statement.

        May be called from several threads.
        """
        names = set(_NAME.findall(sql))
        if not names <= self._defined:
            with self._lock:
                self._define(names)
        return sql

    def _define(self, names: set[str]) -> None:
        for name in sorted(names - self._defined):
            statement = macros().get(name)
            if statement is not None:
                self._define(set(_NAME.findall(statement)) - {name})
                self._connection.execute(statement)
                self._defined.add(name)
            elif name in _FUNCTIONS:
                function, types, returned = _FUNCTIONS[name]
                # Without ``special``, NULL is returned for an empty list, which DuckDB passes as NULL.
                self._connection.create_function(
                    name, function, list(types), returned, type="arrow", null_handling="special"
                )
                self._defined.add(name)


# Theta sketches by Apache DataSketches. A function takes columns and returns a column, by 2,048 rows.


def _rows(column: _Column) -> Iterable[Any]:
    """Yields the rows of a column; of a list, its values in Python."""
    for chunk in column.chunks:
        yield from chunk.to_pylist()


def _of_values(values: _Column, precisions: _Column) -> _Column:
    """Returns the sketch of the values in each list."""
    from datasketches import update_theta_sketch

    sketches = []
    for listed, precision in zip(_rows(values), _rows(precisions), strict=True):
        sketch = update_theta_sketch(precision)
        deque(map(sketch.update, listed or ()), maxlen=0)
        sketches.append(_united((sketch,), precision))
    return _binary(sketches)


def _union(values: _Column, precisions: _Column) -> _Column:
    """Returns the union of the sketches in each list."""
    rows = zip(_rows(values), _rows(precisions), strict=True)
    return _binary(_united(map(_sketch, listed or ()), precision) for listed, precision in rows)


def _united(sketches: Iterable[Any], precision: int) -> bytes:
    from datasketches import theta_union

    union = theta_union(precision)
    for sketch in sketches:
        union.update(sketch)
    return _bytes_of(union.get_result())


def _intersection(values: _Column) -> _Column:
    """Returns the intersection of the sketches in each list."""
    return _binary(_intersected(listed or ()) for listed in _rows(values))


def _intersected(sketches: Sequence[bytes]) -> bytes:
    from datasketches import theta_intersection

    if not sketches:
        return _united((), 12)
    intersection = theta_intersection()
    for sketch in sketches:
        intersection.update(_sketch(sketch))
    return _bytes_of(intersection.get_result())


def _difference(values: _Column) -> _Column:
    """Returns the first sketch of each pair without the values of the second one."""
    from datasketches import theta_a_not_b

    return _binary(
        None if pair is None else _bytes_of(theta_a_not_b().compute(*map(_sketch, pair))) for pair in _rows(values)
    )


def _estimate(values: _Column) -> _Column:
    """Returns the estimated number of values of each sketch, as Java rounds it."""
    import pyarrow as pa

    estimates = [None if sketch is None else int(_sketch(sketch).get_estimate() + 0.5) for sketch in _rows(values)]
    return pa.array(estimates, type=pa.int64())


def _sketch(data: bytes) -> Any:
    """Reads a sketch. DuckDB passes the message of the error on, which ``own_errors`` reads."""
    from datasketches import compact_theta_sketch

    try:
        return compact_theta_sketch.deserialize(data)
    except (ValueError, IndexError, RuntimeError, MemoryError) as error:
        raise ValueError(f"[THETA_INVALID_INPUT_SKETCH_BUFFER] This is no theta sketch: {error}.") from None


def _bytes_of(sketch: Any) -> bytes:
    """Returns the bytes that Java writes: an empty sketch without the hash of its seed, and a mark of a single hash."""
    data: bytes = sketch.serialize(compress=True)
    if sketch.is_empty():
        return data[:6] + b"\0\0"
    return data[:5] + bytes((data[5] | _SINGLE,)) + data[6:] if len(data) == _SINGLE_LENGTH else data


#: The flag of a sketch of one hash in byte 5, and its length: 8 bytes and the hash.
_SINGLE, _SINGLE_LENGTH = 0x20, 16


def _binary(sketches: Iterable[bytes | None]) -> _Column:
    import pyarrow as pa

    return pa.array(list(sketches), type=pa.binary())


#: The functions by name, with the types of their arguments and of their results.
_FUNCTIONS: dict[str, tuple[Callable[..., _Column], tuple[str, ...], str]] = {
    "rw_theta_of_integers": (_of_values, ("BIGINT[]", "INTEGER"), "BLOB"),
    "rw_theta_of_doubles": (_of_values, ("DOUBLE[]", "INTEGER"), "BLOB"),
    "rw_theta_of_texts": (_of_values, ("VARCHAR[]", "INTEGER"), "BLOB"),
    "rw_theta_union": (_union, ("BLOB[]", "INTEGER"), "BLOB"),
    "rw_theta_intersection": (_intersection, ("BLOB[]",), "BLOB"),
    "rw_theta_difference": (_difference, ("BLOB[]",), "BLOB"),
    "rw_theta_estimate": (_estimate, ("BLOB",), "BIGINT"),
}
