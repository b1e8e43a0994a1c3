"""A relative LOCATION starts at the warehouse, and paths in queries at the working directory: a mix-up is a warning."""

from __future__ import annotations

from pathlib import Path

import pytest

from rewriter.session import Session


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    (tmp_path / "events").mkdir()
    monkeypatch.chdir(tmp_path)
    return Session("warehouse", "duckdb")


@pytest.mark.parametrize("create", ["CREATE EXTERNAL TABLE t (a INT)", "CREATE TABLE IF NOT EXISTS t (a INT)"])
def test_a_directory_that_is_only_below_the_working_directory(session: Session, tmp_path: Path, create: str) -> None:
    with session:
        (warning,) = session.execute(f"{create} LOCATION 'events'").warnings
    assert f"{tmp_path}/warehouse/events does not exist yet" in warning
    assert f"write LOCATION '{tmp_path}/events'" in warning


@pytest.mark.parametrize("location", ["{}/events", "file:{}/events", "elsewhere", "made"])
def test_other_locations(session: Session, tmp_path: Path, location: str) -> None:
    (tmp_path / "made").mkdir()
    with session:
        session.execute("CREATE TABLE first (a INT)")
        (tmp_path / "warehouse" / "made").mkdir()
        assert session.execute(f"CREATE TABLE t (a INT) LOCATION '{location.format(tmp_path)}'").warnings == ()


def test_the_name_of_a_file_is_no_object_that_a_warehouse_would_have(session: Session) -> None:
    with session, pytest.raises(Exception, match=r"FROM parquet.`events/a.parquet`"):
        session.execute("SELECT * FROM 'events/a.parquet'")
