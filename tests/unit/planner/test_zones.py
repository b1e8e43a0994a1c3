"""Cubes with a time zone: parameters, and definitions. Queries without parameters are in ``tests/planner``."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from pathlib import Path

from rewriter.catalog.model import json_codec
from rewriter.catalog.model.objects import Cube
from rewriter.session import Session


def test_parameters_are_read_in_the_zone(tmp_path: Path) -> None:
    with Session(tmp_path / "warehouse", "duckdb") as session:
        for statement in (
            "CREATE CUBE f (n BIGINT MEASURE SUM, t TIMESTAMP TIME) TIME ZONE 'Asia/Tokyo'",
            "CREATE TABLE d (n BIGINT) PARTITIONED BY (p STRING)",
            "CREATE FACT ff OF CUBE f STORED IN (TABLE d PERIOD DAILY PARTITIONED BY t AS (p))",
            "INSERT INTO d VALUES (1, '2015-03-08'), (2, '2015-03-09'), (4, '2015-03-10')",
        ):
            session.execute(statement).fetch()

        def sums(condition: str, *parameters: object) -> object:
            return session.execute(f"SELECT SUM(n) FROM f WHERE {condition}", list(parameters)).fetch()[0][0]

        assert sums("t >= ?", "2015-03-09") == 6
        assert sums("t >= ?", date(2015, 3, 9)) == 6
        assert sums("t >= ?", datetime(2015, 3, 8, 15, tzinfo=UTC)) == 6
        assert sums("time_range_in(t, ?, ?)", "2015-03-09", "2015-03-10") == 2


def test_definitions_without_a_zone_are_of_utc() -> None:
    old = {"dimensions": [], "measures": [], "times": ["t"], "column_order": ["t"]}
    cube = json_codec.decode_object("cube", 1, "c", json.dumps(old), "")
    assert isinstance(cube, Cube)
    assert cube.zone == "UTC"
    assert json.loads(json_codec.to_text(cube, "")) == old
    zoned = Cube(1, "c", (), (), ("t",), ("t",), "Asia/Tokyo")
    assert json_codec.decode_object("cube", 1, "c", json_codec.to_text(zoned, ""), "") == zoned
