"""Which partitions of an ordinary table a query keeps, decided by the values of the existing partitions."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from rewriter.catalog.filters.predicates import conditions, replace_computed
from rewriter.catalog.keys import encoding
from rewriter.catalog.model.objects import Column, Table
from rewriter.errors import Error

from .fakes import FakeReader, plan, reader

HOURS = Table(
    10,
    "hours",
    (Column("k", "int"), Column("s", "struct<h:int,nation:string>")),
    (Column("dt", "date"), Column("Hr", "int"), Column("nation", "string"), Column("late", "boolean")),
    "parquet",
    "/warehouse/hours",
)
OTHER = Table(11, "other", (Column("k", "int"),), (Column("dt", "date"), Column("sort", "string")), "parquet", "/w/o")
VALUES = [
    ("2013-01-01", "0", "us", "true"),
    ("2013-01-01", "1", "eu", "false"),
    ("2013-01-02", "0", "us", None),
    ("2013-01-02", None, None, "true"),
    (None, "5", "uk ", "false"),
]
CATALOG = FakeReader((), (HOURS, OTHER), {})


def kept(where: str, source: str = "hours h", **parameters: object) -> list[int] | None:
    """Returns the positions in ``VALUES`` of the partitions of ``hours`` that are read without computed conditions, or
    ``None`` if all are read.
    """
    planned = plan(f"SELECT 1 FROM {source} WHERE {where}", CATALOG, parameters)
    (use,) = (use for use in planned.uses if use.table == HOURS)
    assert use.ranges == (None if use.wanted is None else ())
    wanted = None if use.wanted is None else replace_computed(use.wanted, {})
    if wanted is None:
        return None
    types = [column.type for column in HOURS.partition_columns]
    rows = [[encoding.encode_value(*pair) for pair in zip(types, row, strict=True)] for row in VALUES]
    kept = [row for row, fields in enumerate(rows) if wanted.holds(fields)]
    assert use.wanted is None or kept == [row for row, fields in enumerate(rows) if use.wanted.holds(fields)]
    return kept


def to_compute(where: str, source: str = "hours h", **parameters: object) -> list[tuple[str, tuple[int, ...]]]:
    """Returns the conditions that are computed before files of ``hours`` are looked up, and their columns."""
    planned = plan(f"SELECT 1 FROM {source} WHERE {where}", CATALOG, parameters)
    uses = (use for reading in planned.readings for use in reading.uses if use.table == HOURS)
    return [
        (condition.text, condition.indexes) for use in uses if use.wanted for condition, _ in conditions(use.wanted)
    ]


@pytest.mark.parametrize(
    ("where", "wanted"),
    {
        "dt = DATE '2013-01-01'": [0, 1],
        "dt = '2013-01-01' AND k > 7": [0, 1],
        "hr = 0": [0, 2],
        "1 <= `HR`": [1, 4],
        "hr > -0.5 AND hr < 4.99": [0, 1, 2],
        "NOT (hr = 0)": [1, 4],
        "NOT (hr = 0 AND nation = 'us')": [1, 4],
        "hr IS NULL": [3],
        "nation IS NOT NULL AND late IS NULL": [2],
        "nation LIKE 'u%'": [0, 2, 4],
        "nation NOT LIKE '%s'": [1, 4],
        "nation = 'uk'": [],
        "nation <=> NULL OR hr <=> 1": [1, 3],
        "NOT nation <=> 'us'": [1, 3, 4],
        "nation IS DISTINCT FROM 'us'": [1, 3, 4],
        "late": [0, 3],
        "NOT h.late": [1, 4],
        "hr BETWEEN 0 AND 1 OR nation IN ('eu', 'uk ')": [0, 1, 2, 4],
        "hr NOT BETWEEN 1 AND upper(nation) AND late": [0, 3],
        "hr NOT IN (0, NULL)": [],
        "dt < TIMESTAMP '2013-01-01 00:00:01'": [0, 1],
        "hr BETWEEN 1 AND k": [1, 4],
        "(dt = '2013-01-01' AND k = 1) OR (nation = 'uk ' AND k = 2)": [0, 1, 4],
        "hr = 1 OR hr = 2 AND late": [1],
    }.items(),
)
def test_what_is_understood_keeps_just_what_it_can_be_true_of(where: str, wanted: list[int]) -> None:
    assert kept(where) == wanted


@pytest.mark.parametrize(
    "where",
    [
        "k = 1",
        "hr = 0 OR k = 1",
        "NOT (hr = 0 AND k = 1)",
        "hr NOT BETWEEN 1 AND k",
        "hr = '0'",
        "nation = 5",
        "hr IN (0, '1')",
        "hr = 0e0",
        "hr = 0L",
        "hr < 9223372036854775808",
        "hr + 0 = 0",
        "upper(nation) = 'US'",
        "nation = 'u' 's'",
        r"nation = 'u\\s'",
        "nation = r'us'",
        "nation = '${us}'",
        "nation LIKE 'u%' ESCAPE '/'",
        "nation LIKE ANY ('u%')",
        "nation ILIKE 'U%'",
        "hr LIKE '0%'",
        "dt LIKE '2013%'",
        "dt = '2013-1-1'",
        "dt = '2013-01-01 00:00:00'",
        "dt = TIMESTAMP '2013-01-01 00:00:00+01:00'",
        "dt = TIMESTAMP_NTZ '2013-01-01 00:00:00'",
        "dt = DATE '2013-02-30'",
        "dt = current_date()",
        "late = 'true'",
        "hr = hr",
        "(hr IS NULL) = true",
        "true = hr IS NULL",
        "(hr, nation) IN ((0, 'us'))",
        "hr IN (SELECT 1)",
        "h.s.nation = 'us'",
        "EXISTS (SELECT 1 FROM other WHERE nation = 'us')",
        "nation = '__HIVE_DEFAULT_PARTITION__'",
    ],
)
def test_what_is_not_understood_prunes_nothing(where: str) -> None:
    assert kept(where) is None


@pytest.mark.parametrize(
    ("where", "computed"),
    {
        "upper(nation) = 'US'": [("upper(nation) = 'US'", (2,))],
        "h.hr+1=2 AND k = 1": [("h.hr+1=2", (1,))],
        "concat( nation , dt ) = '/* no comment */'": [("concat( nation , dt ) = '/* no comment */'", (0, 2))],
        "NOT (hr % 2 = 0 OR late AND year(dt) = 2013)": [("NOT (hr % 2 = 0)", (1,)), ("NOT (year(dt) = 2013)", (0,))],
        "CAST(`Hr` AS STRING) BETWEEN '1' AND '3'": [("CAST(`Hr` AS STRING) BETWEEN '1' AND '3'", (1,))],
        "CASE WHEN late THEN hr END = 1": [("CASE WHEN late THEN hr END = 1", (1, 3))],
        "(startswith(nation, 'u'))": [("startswith(nation, 'u')", (2,))],
        "hr BETWEEN 0 AND length(nation)": [("hr BETWEEN 0 AND length(nation)", (1, 2))],
        "upper(nation) = :nation": [("upper(nation) = :nation", (2,))],
        "dt > current_date() - INTERVAL 2 DAYS": [("dt > DATE '2013-03-01' - INTERVAL 2 DAYS", (0,))],
        # What depends on more than the values of one partition.
        "upper(s.nation) = 'US'": [],
        "upper(nation) = 'US' OR k = 1": [],
        "hr + k = 2": [],
        "upper(nation) IN (SELECT 'US')": [("upper(nation) IN (:rewriter_subquery_0)", (2,))],
        "upper(nation) IN (SELECT 'US' LIMIT 1)": [],
        "hr + max(hr) = 3": [],
        "hr + 1 = row_number() OVER (ORDER BY k)": [],
        "length('x') = 1": [],
        "default.hours.hr + 1 = 2": [],
    }.items(),
)
def test_conditions_about_partition_columns_alone_are_kept_as_typed(
    where: str, computed: list[tuple[str, tuple[int, ...]]]
) -> None:
    source = "hours" if "default." in where else "hours h"
    assert to_compute(where, source, nation="US") == computed


def test_a_side_that_may_be_absent_is_computed_with_what_nulls_are() -> None:
    for source, of_nulls in [
        ("other o LEFT JOIN hours h ON o.k = h.k", True),
        ("other o JOIN hours h ON o.k = h.k", False),
    ]:
        planned = plan(f"SELECT 1 FROM {source} WHERE upper(nation) = 'US' AND hr = 1", CATALOG)
        (use,) = (use for use in planned.uses if use.table == HOURS)
        assert use.wanted is not None
        assert [answer for _, answer in conditions(use.wanted)] == [of_nulls]
    assert to_compute("true", "other o LEFT JOIN hours h ON o.k = h.k AND upper(nation) = 'US'") != []
    assert to_compute("true", "hours h LEFT JOIN other o ON o.k = h.k AND upper(nation) = 'US'") == []


@pytest.mark.parametrize(
    ("source", "where", "wanted"),
    [
        # Beside another relation a bare name must be this one's alone.
        ("hours h JOIN other o ON h.k = o.k", "nation = 'us'", [0, 2]),
        ("hours h JOIN other o ON h.k = o.k", "dt = '2013-01-01'", None),
        ("hours h JOIN other o USING (dt)", "dt = '2013-01-01'", None),
        ("hours h JOIN other o USING (dt)", "h.dt = '2013-01-01'", [0, 1]),
        ("hours h JOIN (SELECT 1 AS k) o ON h.k = o.k", "nation = 'us'", None),
        ("hours h JOIN other o ON h.k = o.k", "o.dt = '2013-01-01'", None),
        # ON restricts the side that need not match, WHERE every one where NULL does not pass.
        ("hours h JOIN other o ON h.hr = 0", "true", [0, 2]),
        ("hours h LEFT JOIN other o ON h.hr = 0", "true", None),
        ("other o LEFT JOIN hours h ON h.hr = 0", "true", [0, 2]),
        ("other o LEFT JOIN hours h ON h.hr IS NULL", "true", [3]),
        ("other o LEFT JOIN hours h ON h.k = o.k", "h.hr = 0", [0, 2]),
        ("other o LEFT JOIN hours h ON h.k = o.k", "h.hr IS NULL", None),
        ("other o LEFT JOIN hours h ON h.k = o.k", "h.hr = 0 OR h.hr IS NULL", None),
        ("other o LEFT JOIN hours h ON h.k = o.k", "NOT h.hr <=> 0", None),
        ("other o LEFT JOIN hours h ON h.k = o.k", "h.hr IS NULL AND h.nation = 'us'", [0, 2]),
        ("other o FULL JOIN hours h ON h.hr = 0", "true", None),
        ("hours h RIGHT JOIN other o ON h.hr = 0", "h.nation IS NULL", [0, 2]),
        ("hours h LEFT JOIN other o ON h.k = o.k RIGHT JOIN other p ON true", "h.hr IS NULL", None),
        ("hours h LEFT SEMI JOIN other o ON h.hr = 0", "h.nation IS NULL", []),
        ("other o LEFT ANTI JOIN hours h ON h.hr IS NULL", "true", [3]),
        ("hours h LEFT ANTI JOIN other o ON h.hr = 0", "true", None),
        # Joins in joins are not looked into.
        ("hours h LEFT JOIN other o LEFT JOIN other p ON o.k = p.k ON h.k = o.k", "h.hr = 0", None),
        ("default.hours", "default.hours.hr = 0 AND HOURS.Nation = 'us'", [0, 2]),
        ("hours h", "default.h.hr = 0", None),
        # A name means the innermost relation that is called so.
        ("other h", "h.sort = 'a' AND EXISTS (SELECT 1 FROM hours h WHERE h.hr = 0)", [0, 2]),
        ("other h", "EXISTS (SELECT 1 FROM hours x WHERE h.dt = '2013-01-01' AND x.hr = 0)", [0, 2]),
    ],
)
def test_joins_and_names(source: str, where: str, wanted: list[int] | None) -> None:
    assert kept(where, source) == wanted


@pytest.mark.parametrize(
    ("where", "value", "wanted"),
    [
        ("dt = :x", date(2013, 1, 1), [0, 1]),
        ("dt < :x", datetime(2013, 1, 2, 0, 0, 0, 1, UTC), [0, 1, 2, 3]),
        ("dt = :x", "2013-01-01", [0, 1]),
        ("dt = DATE :x", "2013-01-01", None),
        ("hr = :x", 0, [0, 2]),
        ("hr = -:x", -1, None),
        ("hr = :x", 0.0, None),
        ("hr = :x", "0", None),
        ("hr = :x", Decimal(0), None),
        ("hr <=> :x", None, [3]),
        ("late = :x", True, [0, 3]),
        ("hr = :x", True, None),
        ("nation LIKE :x", r"%s\\%", []),
        ("nation = :x", "uk ", [4]),
    ],
)
def test_parameters_are_read_as_their_values(where: str, value: object, wanted: list[int] | None) -> None:
    try:
        indexes = kept(where, x=value)
    except Error:
        assert wanted is None
    else:
        assert indexes == wanted


def test_two_references_read_what_either_can_need() -> None:
    assert kept("h.hr = 0 AND g.nation = 'eu'", "hours h JOIN hours g ON h.k = g.k") == [0, 1, 2]
    assert kept("h.hr = 0", "hours h JOIN hours g ON h.k = g.k") is None
    planned = plan("SELECT 1 FROM hours WHERE hr = 0 UNION ALL SELECT 1 FROM hours WHERE late IS NULL", CATALOG)
    assert [use.ranges for use in planned.uses] == [()]


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("SELECT * FROM hours UNION ALL SELECT * FROM hours", [0, 2]),
        ("SELECT * FROM hours UNION ALL SELECT * FROM HOURS AS g UNION ALL SELECT * FROM hours", [0, 2]),
        ("SELECT * FROM hours UNION ALL SELECT * FROM other", [0, 2]),
        # Columns of a UNION match by position: another column may be at the same position.
        ("SELECT * FROM other UNION ALL SELECT * FROM hours", None),
        ("SELECT * FROM hours UNION ALL SELECT hr, nation, late, dt, k, s FROM hours", None),
        ("SELECT * FROM hours UNION ALL SELECT *, 1 AS one FROM hours", None),
        ("SELECT * FROM hours UNION ALL SELECT * FROM hours AS g (hr, a, b, c, d, e)", None),
        ("SELECT * FROM hours UNION ALL SELECT * FROM hours JOIN hours g ON true", None),
        # One name may mean two relations.
        (
            "SELECT * FROM other UNION ALL "
            "(WITH other AS (SELECT dt AS hr, hr AS dt, nation FROM hours) SELECT * FROM other)",
            None,
        ),
    ],
)
def test_conditions_go_below_a_union_of_all_columns_of_one_table(source: str, wanted: list[int] | None) -> None:
    assert kept("x.hr = 0", f"({source}) x") == wanted


def test_a_cover_and_a_reference_to_its_table_are_both_read() -> None:
    cube = "SELECT SUM(distance) FROM flights WHERE departed >= '2013-01-05' AND departed < '2013-01-06'"
    (use,) = plan(f"SELECT ({cube}), (SELECT MAX(distance) FROM daily WHERE ds = '2013-02-01')", reader()).uses
    assert use.ranges
    assert use.selections
    assert use.wanted is not None
    (cube_use,) = plan(f"SELECT ({cube}), (SELECT MAX(distance) FROM daily)", reader()).uses
    assert (cube_use.ranges, cube_use.wanted) == (None, None)


def test_a_chain_of_a_thousand_is_read() -> None:
    assert kept(" OR ".join(f"hr = {number}" for number in range(1, 900))) == [1, 4]
