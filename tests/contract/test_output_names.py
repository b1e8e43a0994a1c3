"""Names in HAVING and ORDER BY that are both a column and an alias of the select list mean what they mean in Spark.

On each engine the rows over a cube are those over a plain table of its base rows, and those that Spark returns there.
"""

from __future__ import annotations

from typing import Any

import pytest

from rewriter.errors import Error
from rewriter.session import Session

#: The ends of queries that begin with SELECT, with the rows that Spark returns over the plain table.
QUERIES: dict[str, list[tuple[Any, ...]]] = {
    # In HAVING an aggregate is of columns, and any other name is an alias.
    "carrier, SUM(distance) AS distance FROM {} GROUP BY carrier HAVING distance > 100 ORDER BY carrier": [
        ("AA", "317"), ("UA", "530"),
    ],
    "carrier, MAX(carrier) AS distance FROM {} GROUP BY carrier HAVING SUM(distance) > 320": [("UA", "UA")],
    "carrier, -SUM(distance) AS distance FROM {} GROUP BY carrier HAVING distance + SUM(distance) = 0 "
    "AND distance < -400": [("UA", "-530")],
    # A column that is grouped comes first, and so does an expression that is grouped.
    "lower(carrier) AS carrier, SUM(distance) AS d FROM {} GROUP BY carrier HAVING carrier = 'UA'": [("ua", "530")],
    "lower(carrier) AS carrier, SUM(distance) AS d FROM {} GROUP BY carrier HAVING carrier = 'ua'": [],
    "lower(carrier) AS carrier, SUM(distance) AS d FROM {} GROUP BY lower(carrier) HAVING carrier = 'ua'": [
        ("ua", "530"),
    ],
    "lower(carrier) AS carrier, SUM(distance) AS d FROM {} GROUP BY 1 HAVING concat(carrier, 'x') = 'uax'": [
        ("ua", "530"),
    ],
    "concat(carrier, 'x') AS carrier, SUM(distance) AS d FROM {} GROUP BY concat(carrier, 'x') "
    "HAVING concat(carrier, 'x') = 'UAx'": [("UAx", "530")],
    "SUM(distance) AS carrier, carrier FROM {} GROUP BY carrier HAVING carrier = 'UA'": [("530", "UA")],
    "date_trunc('month', t) AS t, SUM(distance) AS d FROM {} GROUP BY date_trunc('month', t) "
    "HAVING t >= '2013-02-15' OR year(t) = 2012 ORDER BY month(t)": [
        ("2013-03-01 00:00:00+00:00", "52"), ("2012-12-01 00:00:00+00:00", "100"),
    ],
    # In ORDER BY an alias comes first, also within an expression.
    "carrier, -SUM(distance) AS distance FROM {} GROUP BY carrier ORDER BY distance": [
        ("ZZ", "None"), ("UA", "-530"), ("AA", "-317"), ("DL", "-47"), ("None", "-5"),
    ],
    "carrier, -SUM(distance) AS distance FROM {} GROUP BY carrier ORDER BY -distance": [
        ("ZZ", "None"), ("None", "-5"), ("DL", "-47"), ("AA", "-317"), ("UA", "-530"),
    ],
    "CASE WHEN carrier = 'UA' THEN 'A' ELSE 'Z' END AS carrier, SUM(distance) AS d FROM {} GROUP BY carrier "
    "ORDER BY concat(carrier, 'x'), d": [("A", "530"), ("Z", "None"), ("Z", "5"), ("Z", "47"), ("Z", "317")],
    "carrier, -distance AS distance FROM {} ORDER BY abs(distance), carrier": [
        ("UA", "None"), ("ZZ", "None"), ("None", "-5"), ("UA", "-11"), ("AA", "-17"), ("UA", "-19"), ("DL", "-23"),
        ("DL", "-24"), ("UA", "-100"), ("UA", "-200"), ("UA", "-200"), ("AA", "-300"),
    ],
    # COUNT and AVG become sums of measures whose names are aliases, too.
    "carrier, COUNT(*) AS flights FROM {} GROUP BY carrier HAVING COUNT(*) > 1 AND flights < 5 ORDER BY -flights": [
        ("AA", "2"), ("DL", "2"),
    ],
    "carrier, MAX(carrier) AS flights FROM {} GROUP BY carrier HAVING COUNT(*) > 1 ORDER BY flights": [
        ("AA", "AA"), ("DL", "DL"), ("UA", "UA"),
    ],
    "carrier, MIN(carrier) AS priced, AVG(price) AS price FROM {} GROUP BY carrier HAVING SUM(price) > 0 "
    "ORDER BY price DESC": [("UA", "UA", "5.440000"), ("DL", "DL", "5.000000"), ("AA", "AA", "3.330000")],
}  # fmt: skip
#: What Spark refuses, and so do we, on each engine.
REFUSED = (
    "carrier, SUM(distance) AS distance FROM {} GROUP BY carrier ORDER BY SUM(distance)",
    "carrier, MAX(carrier) AS distance FROM {} GROUP BY carrier HAVING c.distance > 1",
    "MAX(carrier) AS x, MIN(carrier) AS x FROM {} GROUP BY carrier HAVING x > 'A'",
)


@pytest.mark.share(4, "spark")
@pytest.mark.parametrize("query", QUERIES)
def test_names_mean_what_they_mean_over_the_plain_table(cube_session: Session, query: str) -> None:
    rows, base_rows = (
        [tuple(row) for row in cube_session.execute(f"SELECT {query.format(relation)}").fetch()]
        for relation in ("c", "base")
    )
    if "ORDER BY" not in query:
        rows, base_rows = sorted(rows, key=repr), sorted(base_rows, key=repr)
    assert rows == base_rows
    assert [tuple(str(value) for value in row) for row in rows] == QUERIES[query]


@pytest.mark.parametrize("query", REFUSED)
@pytest.mark.parametrize("relation", ["c", "base"])
def test_what_spark_refuses_is_refused(cube_session: Session, query: str, relation: str) -> None:
    with pytest.raises(Error):
        cube_session.execute(f"SELECT {query.format(relation)}").fetch()
