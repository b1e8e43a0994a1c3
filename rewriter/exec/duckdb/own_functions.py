"""Defines the macros and functions that a statement calls, in a DuckDB database, when they are first called."""

from __future__ import annotations

import re
import threading
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import chain
from math import ceil, floor
from typing import TYPE_CHECKING, Any, assert_never

from rewriter.exec.duckdb.hash_functions import HASH_FUNCTIONS
from rewriter.exec.duckdb.json_reader import json_rows, json_tuples, json_values
from rewriter.exec.duckdb.json_writer import json_texts
from rewriter.exec.duckdb.number_texts import double_texts, float_texts
from rewriter.exec.duckdb.own_decimals import decimal_columns
from rewriter.exec.duckdb.text_functions import OWN_TEXT_FUNCTIONS
from rewriter.exec.sql_types import duckdb_type
from rewriter.exec.translate.decimals import DecimalOperation, decimal_function
from rewriter.exec.translate.duckdb_macros import macros
from rewriter.exec.translate.json_functions import JsonUse, json_function, row_type

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
            elif (definition := _definition(name)) is not None:
                function, types, returned = definition
                # Without ``special``, NULL is returned for an empty list, which DuckDB passes as NULL.
                self._connection.create_function(
                    name, function, list(types), returned, type="arrow", null_handling="special"
                )
                self._defined.add(name)


#: A function of columns, with the types of its arguments and of its result.
_Definition = tuple[Callable[..., _Column], tuple[str, ...], str]


def _definition(name: str) -> _Definition | None:
    decimals = decimal_function(name)
    if decimals is None:
        return _json_definition(name) or _FUNCTIONS.get(name)
    is_whole = decimals.operation is DecimalOperation.WHOLE_QUOTIENT
    returned = "BIGINT" if is_whole else duckdb_type(decimals.type)
    return decimal_columns(decimals), tuple(map(duckdb_type, decimals.argument_types)), returned


def _json_definition(name: str) -> _Definition | None:
    function = json_function(name)
    if function is None:
        return None
    type_ = duckdb_type(function.type)
    match function.use:
        case JsonUse.FROM_JSON:
            return json_values(function.type), ("VARCHAR",), type_
        case JsonUse.ROW:
            return json_rows(function.type), ("VARCHAR",), duckdb_type(row_type(function.type))
        case JsonUse.TO_JSON | JsonUse.WITH_NULLS:
            return json_texts(function.type, function.use is JsonUse.WITH_NULLS), (type_,), "VARCHAR"
        case _:
            assert_never(function.use)


# Theta sketches by Apache DataSketches. A function takes columns and returns a column, by 2,048 rows. Its modules are
# imported by the first call.


def _rows(column: _Column) -> Iterable[Any]:
    """Yields the rows of a column; of a list, its values in Python."""
    for chunk in column.chunks:
        yield from chunk.to_pylist()


def _of_values(values: _Column, precisions: _Column) -> _Column:
    """Returns the sketch of the values in each list."""
    return _binary(
        _of_value(listed[0], precision) if listed is not None and len(listed) == 1 else _hashed(listed or (), precision)
        for listed, precision in zip(_rows(values), _rows(precisions), strict=True)
    )


@lru_cache(maxsize=1 << 16)
def _of_value(value: Any, precision: int) -> bytes:
    """Returns the sketch of one value. Many events may have the same one."""
    return _hashed((value,), precision)


def _hashed(values: Iterable[Any], precision: int) -> bytes:
    from datasketches import update_theta_sketch

    sketch = update_theta_sketch(precision)
    deque(map(sketch.update, values), maxlen=0)
    return _united((sketch,), precision)


def _union(values: _Column, precisions: _Column) -> _Column:
    """Returns the union of the sketches in each list. Those of single events are read once each."""
    from rewriter.exec.theta_sketches import read_sketch

    rows = zip(_rows(values), _rows(precisions), strict=True)
    return _binary(
        _united(map(read_sketch, () if listed is None else _without_repetitions(listed)), precision)
        for listed, precision in rows
    )


def _without_repetitions(sketches: Sequence[bytes]) -> Iterable[bytes]:
    from rewriter.exec.theta_sketches import SINGLE_LENGTH

    single = {sketch for sketch in sketches if len(sketch) == SINGLE_LENGTH}
    return chain(single, (sketch for sketch in sketches if len(sketch) != SINGLE_LENGTH))


def _united(sketches: Iterable[Any], precision: int) -> bytes:
    from datasketches import theta_union

    from rewriter.exec.theta_sketches import compact_bytes

    union = theta_union(precision)
    for sketch in sketches:
        union.update(sketch)
    return compact_bytes(union.get_result())


def _intersection(values: _Column) -> _Column:
    """Returns the intersection of the sketches in each list."""
    return _binary(_intersected(listed or ()) for listed in _rows(values))


def _intersected(sketches: Sequence[bytes]) -> bytes:
    from datasketches import theta_intersection

    from rewriter.exec.theta_sketches import compact_bytes, read_sketch

    if not sketches:
        return _united((), 12)
    intersection = theta_intersection()
    for sketch in sketches:
        intersection.update(read_sketch(sketch))
    return compact_bytes(intersection.get_result())


def _difference(values: _Column) -> _Column:
    """Returns the first sketch of each pair without the values of the second one."""
    from datasketches import theta_a_not_b

    from rewriter.exec.theta_sketches import compact_bytes, read_sketch

    return _binary(
        None if pair is None else compact_bytes(theta_a_not_b().compute(*map(read_sketch, pair)))
        for pair in _rows(values)
    )


def _estimate(values: _Column) -> _Column:
    """Returns the estimated number of values of each sketch, as Java rounds it."""
    import pyarrow as pa

    from rewriter.exec.theta_sketches import GREATEST_THETA, read_sketch

    def rounded(sketch: bytes) -> int:
        return int(min(read_sketch(sketch).get_estimate() + 0.5, GREATEST_THETA))

    return pa.array([None if sketch is None else rounded(sketch) for sketch in _rows(values)], type=pa.int64())


def _weighted_percentiles(rows: _Column, percentages: _Column) -> _Column:
    """Returns percentiles of the values of each list, of which each occurs as often as its frequency says. Spark
    interpolates between the values next to the place in the same way.
    """
    import pyarrow as pa

    results = []
    for chunk, listed_percentages in zip(rows.chunks, percentages.chunks, strict=True):
        for listed, places in zip(chunk, listed_percentages.to_pylist(), strict=True):
            results.append(None if listed.values is None else _percentiles_of(listed.values, places))
    return pa.array(results, type=pa.list_(pa.float64()))


def _percentiles_of(rows: Any, percentages: Sequence[float]) -> list[float] | None:
    """Returns the percentiles of an array of structs of a value and its frequency; ``None`` if all are 0."""
    from pyarrow import compute

    values, frequencies = rows.flatten()
    least = compute.min(frequencies).as_py()
    if least is not None and least < 0:
        raise ValueError(f"[NEGATIVE_VALUES_IN_FREQUENCY_EXPRESSION] The frequency {least} is negative.")
    order = compute.sort_indices(values)
    values, counted = values.take(order), compute.cumulative_sum_checked(frequencies.take(order))
    total = counted[-1].as_py() if len(counted) else 0
    if total == 0:
        return None

    def value_at(place: int) -> float:
        """The value at a place among all, from 0."""
        return float(values[bisect_right(counted, place, key=lambda scalar: scalar.as_py())].as_py())

    results = []
    for percentage in percentages:
        place = (total - 1) * percentage
        low, high = floor(place), ceil(place)
        first, last = value_at(low), value_at(high)
        results.append(first if low == high or first == last else (high - place) * first + (place - low) * last)
    return results


def _binary(sketches: Iterable[bytes | None]) -> _Column:
    import pyarrow as pa

    return pa.array(list(sketches), type=pa.binary())


#: The functions by name.
_FUNCTIONS: dict[str, _Definition] = {
    "rw_theta_of_integers": (_of_values, ("BIGINT[]", "INTEGER"), "BLOB"),
    "rw_theta_of_doubles": (_of_values, ("DOUBLE[]", "INTEGER"), "BLOB"),
    "rw_theta_of_texts": (_of_values, ("VARCHAR[]", "INTEGER"), "BLOB"),
    "rw_theta_union": (_union, ("BLOB[]", "INTEGER"), "BLOB"),
    "rw_theta_intersection": (_intersection, ("BLOB[]",), "BLOB"),
    "rw_theta_difference": (_difference, ("BLOB[]",), "BLOB"),
    "rw_weighted_percentiles": (_weighted_percentiles, ("STRUCT(v DOUBLE, n BIGINT)[]", "DOUBLE[]"), "DOUBLE[]"),
    **HASH_FUNCTIONS,
    **OWN_TEXT_FUNCTIONS,
    "rw_other_double_text": (double_texts, ("DOUBLE",), "VARCHAR"),
    "rw_other_float_text": (float_texts, ("FLOAT",), "VARCHAR"),
    "rw_json_tuple": (json_tuples, ("VARCHAR", "VARCHAR[]"), "VARCHAR[]"),
    "rw_theta_estimate": (_estimate, ("BLOB",), "BIGINT"),
}
