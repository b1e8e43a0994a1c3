"""Arrow data in which only NULLs occur takes the types of the table's columns, at any depth."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from rewriter.statements.resolve.type_trees import type_tree
from rewriter.statements.write.append import with_types

NULL = pa.null()


@pytest.mark.parametrize(
    ("type_", "column", "expected", "values"),
    [
        (NULL, "int", pa.int32(), [None]),
        (NULL, "decimal(9,2)", pa.decimal128(9, 2), [None]),
        (NULL, "varchar(3)", pa.string(), [None]),
        (NULL, "binary", pa.binary(), [None]),
        (NULL, "variant", NULL, [None]),
        (NULL, "array<int>", pa.list_(pa.field("element", pa.int32())), [None]),
        (NULL, "map<string,date>", pa.map_(pa.string(), pa.date32()), [None]),
        (NULL, "struct<a:int>", pa.struct([pa.field("a", pa.int32())]), [None]),
        (pa.list_(NULL), "array<int>", pa.list_(pa.field("element", pa.int32())), [[], [None], None]),
        (pa.large_list(NULL), "array<int>", pa.list_(pa.field("element", pa.int32())), [[], [None]]),
        (pa.list_(NULL, 2), "array<int>", pa.list_(pa.field("element", pa.int32())), [[None, None]]),
        (
            pa.list_(pa.struct([("A", NULL), ("b", pa.int8())])),
            "array<struct<b:int,a:array<string>>>",
            pa.list_(
                pa.field("element", pa.struct([("A", pa.list_(pa.field("element", pa.string()))), ("b", pa.int8())]))
            ),
            [[{"A": None, "b": 1}], [None]],
        ),
        (pa.map_(pa.string(), NULL), "map<string,int>", pa.map_(pa.string(), pa.int32()), [[("x", None)], []]),
        (pa.list_(pa.int64()), "array<int>", pa.list_(pa.field("element", pa.int64())), [[1]]),
        (pa.list_(NULL), "map<string,int>", pa.list_(NULL), [[None]]),
        (pa.struct([("z", NULL)]), "struct<a:int>", pa.struct([("z", NULL)]), [{"z": None}]),
        (pa.int64(), "int", pa.int64(), [1]),
    ],
)
def test_nulls_take_the_types_of_a_column(
    type_: pa.DataType, column: str, expected: pa.DataType, values: list[Any]
) -> None:
    typed = with_types(type_, type_tree(column))
    assert typed == expected
    array = pa.array(values, type_)
    assert array.cast(typed).to_pylist() == array.to_pylist()
