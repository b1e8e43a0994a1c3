"""The input of the differential tests of DuckDB's translator: relations of odd values, expressions, queries, errors.

Each entry of the allow-list (``rewriter.exec.translate.allowlist``) is used at least once, which ``tests/unit/exec``
checks.
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
from contract.conftest import columns, parquet, scan_file

from rewriter.exec.engine import EngineQuery, Relation


def _at(*fields: int) -> dt.datetime:
    return dt.datetime(*fields, tzinfo=dt.UTC)  # type: ignore[misc]


#: Rows with NULLs, negative and odd values, dates before 1970 and on a leap day.
_PLAIN = pa.table(
    {
        "id": pa.array([1, 2, 3, 4, 5], pa.int32()),
        "b": pa.array([10, None, -7, 2**40, 0], pa.int64()),
        "d": pa.array([1.5, -2.5, None, 1e10, 0.0], pa.float64()),
        "m": pa.array(
            [Decimal("1.25"), Decimal("-2.50"), None, Decimal("12345678.90"), Decimal("0.00")], pa.decimal128(10, 2)
        ),
        "s": pa.array(["abc", "Ünï", None, " x% y ", ""]),
        "n": pa.array(["12", " -7 ", None, "1.5", "zz"]),
        "f": pa.array([True, False, None, True, False]),
        "dd": pa.array([dt.date(2013, 1, 31), dt.date(2016, 2, 29), None, dt.date(1969, 12, 31), dt.date(2000, 1, 1)]),
        "t": pa.array(
            [
                _at(2013, 1, 31, 23, 59, 59, 123456),
                _at(2016, 2, 29, 5),
                None,
                _at(1969, 12, 31, 23, 0, 0, 1),
                _at(2000, 1, 1),
            ],
            pa.timestamp("us", "UTC"),
        ),
        "ym": pa.array(["2013-01", "2016-02", None, "1969-12", "2000-01"]),
        "h": pa.array([5, 23, None, 0, 12], pa.int16()),
    }
)
_PLAIN_COLUMNS = columns(
    "id int", "b bigint", "d double", "m decimal(10,2)", "s string", "n string", "f boolean", "dd date", "t timestamp",
    "ym string", "h smallint",
)  # fmt: skip
PARAMETERS: dict[str, object] = {
    "p": 5, "q": "abc", "r": 2.5, "x": Decimal("1.50"), "y": dt.date(2013, 1, 31), "z": _at(2013, 1, 1),
}  # fmt: skip

_NAN, _INF = float("nan"), float("inf")
#: The ends of every type, and values beside them; texts that are odd numbers and times, and letters of two, three and
#: four bytes, and two letters that are shown as one.
_EDGES = pa.table(
    {
        "r": pa.array(range(1, 13), pa.int32()),
        "i8": pa.array([-128, 127, 0, -1, 1, None, 7, -7, 2, 3, 100, -100], pa.int8()),
        "i16": pa.array([-(2**15), 2**15 - 1, 0, -1, 1, None, 7, -7, 2, 3, 1000, -1000], pa.int16()),
        "i32": pa.array([-(2**31), 2**31 - 1, 0, -1, 1, None, 7, -7, 2, 3, 10**9, -(10**9)], pa.int32()),
        "i64": pa.array([-(2**63), 2**63 - 1, 0, -1, 1, None, 7, -7, 2**53 + 1, 3, 10**18, -(10**18)], pa.int64()),
        "f64": pa.array([-_INF, _INF, 0.0, -0.0, _NAN, None, 2.675, -2.675, 0.1, -0.04, 1e300, 5e-324]),
        "f32": pa.array([-_INF, _INF, 0.0, -0.0, _NAN, None, 2.675, -2.675, 0.1, -0.04, 1e38, 1e-45], pa.float32()),
        # Finite doubles, for which rounding half up does not depend on the binary value.
        "g": pa.array([0.5, 1.5, 2.5, -0.5, -1.5, None, 1.005, 1.015, 2**53 - 1.0, 4503599627370497.5, -1e15 - 0.125,
                       0.000012345]),
        "m": pa.array([Decimal(x) if x else None for x in
                       ["-99999999.99", "99999999.99", "0.00", "-0.01", "0.01", None, "1.25", "-1.25", "1.35", "2.50",
                        "0.05", "-0.05"]], pa.decimal128(10, 2)),
        "p": pa.array([Decimal(x) if x else None for x in
                       ["-0.99999", "0.99999", "0", "-0.00001", "0.00001", None, "0.5", "-0.5", "0.12345", "0.4",
                        "0.05", "-0.05"]], pa.decimal128(5, 5)),
        "w": pa.array([Decimal(x) if x else None for x in
                       ["-9999999999999999999999999999.9999999999", "9999999999999999999999999999.9999999999", "0",
                        "-0.0000000001", "0.0000000001", None, "1.5", "-1.5", "123456789012345678.9012345678",
                        "0.3333333333", "9007199254740993", "0.1"]], pa.decimal128(38, 10)),
        "s": pa.array(["", " ", "a", "abcabc", "Ünïcödé", None, "😀x😀", "e\u0301a", "中文字", "a%b_c\\d", "a\nb\tc",
                       "A-B--C"]),
        "n": pa.array(["\t12\n", "+7", "-0", "1e3", ".5", None, "5.", "NaN", "-Infinity", "2147483648", "1d", ""]),
        "x": pa.array(["2013", "2013-1", "2013-01-05T", "2013-02-30", "x2013", None, " 2013-1-5 ", "", "2016-02-29",
                       "2015-02-29", "1969-12-31 x", "0001-01-01"]),
        "y": pa.array(["2013-01-05", "2013-01-05 1:2:3", "2013-01-05T10:20:30.123456", "2013-01-05 24:00:00", "noon",
                       None, " 2013-1-5 1:02 ", "", "2013-01-05 10:00:00+05:30", "2013-01-05 10:00:00Z",
                       "2013-01-05 10:61:00", "1969-12-31 23:59:59.9"]),
        "k": pa.array([True, False, None, True, False, None, True, False, True, True, False, True]),
        "o": pa.array([" true", "F", "y", "No\t", "1", None, "0", "t", "yes", "maybe", "", "2"]),
        "d": pa.array([dt.date(*x) if x else None for x in
                       [(1, 1, 1), (9999, 12, 31), (1970, 1, 1), (1969, 12, 31), (2016, 2, 29), None, (2015, 1, 1),
                        (2010, 1, 3), (2000, 2, 29), (1900, 2, 28), (2012, 12, 31), (1582, 10, 15)]]),
        "ts": pa.array([_at(*x) if x else None for x in
                        [(1, 1, 1), (9999, 12, 31, 23, 59, 59, 999999), (1970, 1, 1),
                         (1969, 12, 31, 23, 59, 59, 999999),
                         (2016, 2, 29, 12, 30, 45, 1), None, (2015, 1, 1, 0, 0, 1), (2010, 1, 3, 13, 0, 0, 500000),
                         (2000, 2, 29, 23, 59), (1900, 2, 28, 1, 2, 3, 456789), (2012, 12, 31, 6), (1582, 10, 15)]],
                       pa.timestamp("us", "UTC")),
    }
)  # fmt: skip
_EDGE_COLUMNS = columns(
    "r int", "i8 tinyint", "i16 smallint", "i32 int", "i64 bigint", "f64 double", "f32 float", "g double",
    "m decimal(10,2)", "p decimal(5,5)", "w decimal(38,10)", "s string", "n string", "x string", "y string",
    "k boolean", "o string", "d date", "ts timestamp",
)  # fmt: skip

_STRUCT = pa.struct(
    [
        ("x", pa.int32()),
        ("Y", pa.string()),
        ("z", pa.struct([("q", pa.int64()), ("t", pa.timestamp("us", "UTC"))])),
    ]
)
_OLD, _NEW, _LAST = _at(1, 1, 1), _at(2013, 1, 31, 23, 59, 59, 123456), _at(9999, 12, 31, 23, 59, 59, 999999)
#: NULL, empty values and NULLs within values; NaN and zeros; times at the ends of their ranges.
_NESTED = pa.table(
    {
        "r": pa.array([1, 2, 3, 4, 5, 6], pa.int32()),
        "s": pa.array(["a", "", None, "it's", "a", "\n"]),
        "d": pa.array([dt.date(2020, 2, 29), dt.date(1, 1, 1), None, dt.date(9999, 12, 31), dt.date(1970, 1, 1), None]),
        "ai": pa.array([[1, None, 3], [], None, [None], [2**31 - 2, -(2**31) + 1], [1, 1, 2, None, None]],
                       pa.list_(pa.int32())),
        "x": pa.array([["a", "b"], ["", None, "a"], None, [], ["Ü", "a", "a"], ["it's \"q\"", "\n"]],
                      pa.list_(pa.string())),
        "ad": pa.array([[_NAN, 1.5], [-0.0, 0.0], None, [None], [_INF, -_INF], [1e308, 5e-324, _NAN]],
                       pa.list_(pa.float64())),
        "ats": pa.array([[_NEW, None], [_OLD], None, [], [_LAST], [_at(1970, 1, 1)] * 2],
                        pa.list_(pa.timestamp("us", "UTC"))),
        "adt": pa.array([[dt.date(2020, 2, 29)], [None, dt.date(1, 1, 1)], None, [], [dt.date(9999, 12, 31)] * 2, None],
                        pa.list_(pa.date32())),
        "am": pa.array([[Decimal("1.25"), Decimal("-0.01")], [], None, [None], [Decimal("99999999.99")], None],
                       pa.list_(pa.decimal128(10, 2))),
        "aa": pa.array([[[1, None], None], [[]], None, [], [[1], [2, 3]], [None, [None]]],
                       pa.list_(pa.list_(pa.int32()))),
        "ab": pa.array([[b"a", None], [b""], None, [], [b"\xff\x00"], None], pa.list_(pa.binary())),
        "ms": pa.array([[("a", 1), ("b", None)], [], None, [("", 0)], [("b", -5), ("a", 2)], [("a", None)]],
                       pa.map_(pa.string(), pa.int32())),
        "mi": pa.array([[(1, ["x", None])], [(7, None), (1, [])], None, [], [(-1, ["y"])], [(2**31 - 1, [])]],
                       pa.map_(pa.int32(), pa.list_(pa.string()))),
        "mst": pa.array([[(dt.date(2020, 2, 29), {"f": True})], [(dt.date(1, 1, 1), None)], None, [],
                         [(dt.date(1970, 1, 1), {"f": None}), (dt.date(2020, 2, 29), {"f": False})], []],
                        pa.map_(pa.date32(), pa.struct([("f", pa.bool_())]))),
        "st": pa.array([{"x": 1, "Y": "y", "z": {"q": 2**40, "t": _NEW}}, {"x": None, "Y": None, "z": None}, None,
                        {"x": -1, "Y": "", "z": {"q": None, "t": None}}, {"x": 1, "Y": "y", "z": {"q": 5, "t": _OLD}},
                        {"x": 1, "Y": "y", "z": {"q": 2**40, "t": _NEW}}], _STRUCT),
        "ast": pa.array([[{"k": "a", "v": 1.5}, {"k": None, "v": _NAN}], [], None, [None, {"k": "b", "v": -0.0}],
                         [{"k": "a", "v": None}], [{"k": "c", "v": _INF}, {"k": "c", "v": 2.0}]],
                        pa.list_(pa.struct([("k", pa.string()), ("v", pa.float64())]))),
    }
)  # fmt: skip
_NESTED_COLUMNS = columns(
    "r int", "s string", "d date", "ai array<int>", "x array<string>", "ad array<double>", "ats array<timestamp>",
    "adt array<date>", "am array<decimal(10,2)>", "aa array<array<int>>", "ab array<binary>", "ms map<string,int>",
    "mi map<int,array<string>>", "mst map<date,struct<f:boolean>>",
    "st struct<x:int,Y:string,z:struct<q:bigint,t:timestamp>>", "ast array<struct<k:string,v:double>>",
)  # fmt: skip


def lines(text: str) -> list[str]:
    """Returns the lines of a text. A line that begins with blanks continues the line before."""
    return re.sub(r"\n +", " ", text.strip()).splitlines()


def declared() -> tuple[Relation, ...]:
    """Returns the relations ``t``, ``e`` and ``v`` without their files, for translation only."""
    declarations = ("t", _PLAIN_COLUMNS), ("e", _EDGE_COLUMNS), ("v", _NESTED_COLUMNS)
    return tuple(Relation(name, "parquet", declared_columns, (), ()) for name, declared_columns in declarations)


def relations(directory: Path) -> tuple[Relation, ...]:
    """Writes the relations ``t``, ``e`` and ``v`` below a directory and returns them."""
    files = (
        scan_file(parquet(directory / f"{number}.parquet", table))
        for number, table in enumerate((_PLAIN, _EDGES, _NESTED))
    )
    return tuple(replace(relation, files=(file,)) for relation, file in zip(declared(), files, strict=True))


def query(sql: str, relations: tuple[Relation, ...]) -> EngineQuery:
    """Returns a query over the relations, with the parameters that it names."""
    used = {name: value for name, value in PARAMETERS.items() if re.search(rf":{name}\b", sql)}
    return EngineQuery(sql, relations, used)
