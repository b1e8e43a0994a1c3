"""The queries of the benchmark of partition look-ups are those of their labels, on a small table."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import hive_metastore, lookups
from benchmarks.lookups import Shape
from rewriter.errors import JavaNotFoundError


def test_its_questions_find_what_they_are_called_after(tmp_path: Path) -> None:
    shape = Shape(3, 42)
    values, dates = shape.values(), shape.dates()
    assert len(values) == len(set(values)) == shape.size == 3 * 42 * 24
    wanted = {
        "one day": [row for row in values if row[:2] == ("r001", dates[20])],
        "one month": [row for row in values if row[0] == "r001" and dates[5] <= row[1] <= dates[35]],
        "OR of 21 days": [row for row in values if row[0] == "r001" and row[1] in dates[::2]],
        "second column only": [row for row in values if row[1] == dates[-1]],
    }
    assert [len(rows) for rows in wanted.values()] == [24, 744, 504, 72]
    lookups.add((tmp_path, None), shape, 1_000)
    catalog = lookups.open_catalog((tmp_path, None))
    snapshot = catalog.snapshot()
    table = snapshot.table("p")
    for label, text in shape.filters().items():
        assert [partition.values for partition in snapshot.get_partitions_by_filter(table, text)] == wanted[label]
    answers = {label: count for label, _, count in lookups.answers(snapshot, shape)}
    assert answers.pop(f"OR of 21 days{lookups.AGAIN}") == 504
    assert answers == {label: len(rows) for label, rows in wanted.items()}
    assert [partition.values for partition in snapshot.partitions(table)] == sorted(
        values, key=lambda v: (*v[:2], int(v[2]))
    )
    catalog.close()


def test_a_million_partitions_of_which_the_second_column_selects_one_per_cent() -> None:
    shape = Shape(lookups.SIZES[-1])
    (day,) = (text.split("'")[1] for label, text in shape.filters().items() if label == "second column only")
    assert shape.size == 1_000_800
    assert sum(ds >= day for ds in shape.dates()) / shape.days == pytest.approx(0.01, rel=0.05)


@pytest.mark.parametrize("missing", ["pymetastore", "pgserver", "psycopg"])
def test_without_the_extra_it_says_so_in_one_line(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    module, why = (
        (hive_metastore, hive_metastore.unavailable) if missing == "pymetastore" else (lookups, lookups.no_postgresql)
    )
    monkeypatch.setattr(module, "find_spec", lambda name: None if name == missing else object())
    said = why()
    assert said is not None
    assert missing in said
    assert "pip install -e '.[bench]'" in said
    assert "\n" not in said


def test_without_java_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hive_metastore, "find_spec", lambda name: object())
    monkeypatch.setattr(hive_metastore, "find_java_home", _no_java)
    said = hive_metastore.unavailable()
    assert said is not None
    assert said == "The Hive metastore is not measured: No Java was found that can run Spark: JAVA_HOME is not set."


def _no_java() -> Path:
    raise JavaNotFoundError("No Java was found that can run Spark: JAVA_HOME is not set.", hint="install one")
