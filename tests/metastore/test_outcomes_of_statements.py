"""The comparison of outcomes: what it leaves out, and what it reports."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import pytest
from comparison import MOST_DIFFERENCES, Difference, compare
from statement_outcomes import Executed, Outcome, Surroundings, normalized
from statement_texts import Statement, statements

HERE = Surroundings("/scratch/one", "file:/stores/one/warehouse", "ann")
THERE = Surroundings("/other/two", "hdfs://host/warehouse", "bob")


def _described(where: Surroundings, time: str, version: str, size: int) -> Outcome:
    """Returns what DESCRIBE prints, and what SHOW prints as text, in these surroundings."""
    properties = [f"transient_lastDdlTime={size}", "field.delim=,", "k=v"]
    if where is THERE:
        properties.reverse()
    rows = [
        ("Location", f"file:{where.dir}/t", ""),
        ("Location", f"{where.warehouse}/t", ""),
        ("Owner", where.user, ""),
        ("Created Time", time, ""),
        ("Created By", f"Spark {version}", ""),
        ("Table Properties", f"[{', '.join(properties)}]", ""),
        ("Statistics", f"{size} bytes, 3 rows", ""),
        ("transient_lastDdlTime", str(size), ""),
        (
            "sales",
            f"Owner: {where.user}\nCreated Time: {time}\nPartition Parameters: [totalSize={size}, numFiles=1]\n",
            "",
        ),
        ("ddl", f"TBLPROPERTIES (\n  'transient_lastDdlTime' = '{size}')", ""),
    ]
    return Outcome(("name", "value", "comment"), tuple(rows))


def test_what_differs_between_runs_is_left_out() -> None:
    one = normalized("DESCRIBE t", _described(HERE, "Thu Nov 26 17:00:00 UTC 2026", "4.3.0", 17), HERE)
    two = normalized("DESCRIBE t", _described(THERE, "Fri Nov 27 01:02:03 UTC 2026", "4.3.1", 170), THERE)
    assert one == two
    cells = [cell for row in one.rows for cell in row]
    assert "${size} bytes, 3 rows" in cells
    assert "[field.delim=,, k=v, transient_lastDdlTime=${time}]" in cells
    assert "file:${dir}/t" in cells


@pytest.mark.share(1)
@pytest.mark.parametrize(
    ("label", "one", "two"),
    [
        ("Statistics", "5 bytes, 3 rows", "5 bytes, 4 rows"),
        ("Statistics", "5 bytes", "0 bytes"),
        ("Partition Parameters", "[numFiles=1, totalSize=5]", "[numFiles=2, totalSize=5]"),
        ("Partition Parameters", "[numFiles=0, totalSize=0]", "[numFiles=0, totalSize=5]"),
        ("Table Properties", "[a=1, b=2]", "[a=1]"),
        ("Last Access", "UNKNOWN", "Thu Nov 26 17:00:00 UTC 2026"),
        ("Owner", "ann", "public"),
        ("Location", "file:/scratch/one/t", "file:/scratch/t"),
        ("note", "Created By: Spark 4.3.0", "Created By: Flink 4.3.0"),
        ("n", "5 bytes", "6 bytes"),
    ],
)
def test_what_a_metastore_decides_is_kept(label: str, one: str, two: str) -> None:
    first, second = (normalized("DESCRIBE t", Outcome(("a", "b"), ((label, text),)), HERE) for text in (one, two))
    assert first != second


@pytest.mark.share(1)
@pytest.mark.parametrize(
    ("statement", "is_ordered"),
    [
        ("SELECT a FROM t", False),
        ("SELECT a FROM t\nORDER BY a DESC", True),
        ("SHOW TABLES", False),
        ("SHOW TBLPROPERTIES t", False),
        ("SHOW PARTITIONS t", True),
        ("SHOW COLUMNS IN t", True),
        ("describe t", True),
    ],
)
def test_rows_are_sorted_where_sql_gives_no_order(statement: str, is_ordered: bool) -> None:
    rows = (("b",), (None,), ("a",))
    expected = rows if is_ordered else (("a",), ("b",), (None,))
    assert normalized(statement, Outcome(("x",), rows), HERE).rows == expected


def test_a_script_is_split_at_semicolons_that_end_lines() -> None:
    script = "-- one; two;\n\nSELECT ';',\n  '-- x';\nSELECT 2;\n-- end\n"
    assert statements(script) == [Statement(3, "SELECT ';',\n  '-- x'"), Statement(5, "SELECT 2")]
    with pytest.raises(ValueError, match="line 2 does not end"):
        statements("SELECT 1;\nSELECT 2\n")


OK = Outcome(("x",), (("1",), ("2",)))
RECORDING = [("SELECT 1", OK), ("DROP TABLE t", Outcome()), ("SELECT 1", OK)]


def _results(*outcomes: Outcome) -> list[Executed]:
    return [
        Executed(Statement(10 * number, text), outcome, "its message")
        for number, ((text, _), outcome) in enumerate(zip(RECORDING, outcomes, strict=True), start=1)
    ]


def _problems(results: Sequence[Executed], accepted: Sequence[Difference] = ()) -> list[str]:
    return compare(results, RECORDING, accepted)


def test_every_other_outcome_is_reported_with_both_outcomes() -> None:
    assert _problems(_results(OK, Outcome(), OK)) == []
    fewer = Outcome(("x",), (("1",),))
    assert _problems(_results(fewer, Outcome(error="NOT_FOUND"), OK)) == [
        "statements.sql:10 SELECT 1\n     x\n     1\n    -2",
        "statements.sql:20 DROP TABLE t\n    -OK\n    +ERROR NOT_FOUND\n    message: its message",
    ]


def test_values_that_look_equal_are_reported() -> None:
    split = Outcome(("x",), (("1\n2",),))
    (problem,) = _problems(_results(split, Outcome(), OK))
    assert "the values are not" in problem


def test_a_deliberate_difference_accepts_its_outcome_alone() -> None:
    accepted = Difference("DROP TABLE t", "A reason.", "ERROR NOT_FOUND")
    assert _problems(_results(OK, Outcome(error="NOT_FOUND"), OK), [accepted]) == []
    (other, unused) = _problems(_results(OK, Outcome(error="REFUSED"), OK), [accepted])
    assert "+ERROR REFUSED" in other
    assert "no statement uses: DROP TABLE t" in unused
    (unused,) = _problems(_results(OK, Outcome(), OK), [accepted])
    assert "no statement uses: DROP TABLE t" in unused
    (unused,) = _problems(_results(OK, Outcome(), OK), [dataclasses.replace(accepted, statement="SELECT 1")])
    assert "no statement uses: SELECT 1" in unused


def test_a_deliberate_difference_may_end_with_a_newline() -> None:
    shown = Outcome(("ddl",), (("CREATE TABLE t (\n  a INT)\n",),))
    accepted = Difference("SELECT 1", "A reason.", "ddl\nCREATE TABLE t (\n  a INT)")
    assert _problems(_results(shown, Outcome(), shown), [accepted]) == []


def test_there_are_not_too_many_deliberate_differences() -> None:
    result = Executed(Statement(1, "SELECT 1"), Outcome(error="E"))
    names = [f"SELECT {number}" for number in range(MOST_DIFFERENCES + 1)]
    results = [dataclasses.replace(result, statement=Statement(1, name)) for name in names]
    recording = [(name, OK) for name in names]
    accepted = [Difference(name, "A reason.", "ERROR E") for name in names]
    (problem,) = compare(results, recording, accepted)
    assert "11 rows, and 10 are allowed" in problem
    assert compare(results[1:], recording[1:], accepted[1:]) == []


def test_a_recording_of_another_script_is_refused() -> None:
    results = _results(OK, Outcome(), OK)
    (problem,) = compare(results, RECORDING[:2], [])
    assert "record it again" in problem
