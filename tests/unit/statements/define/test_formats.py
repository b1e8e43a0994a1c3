"""Each format of files is the same in every statement: names, Hive's classes, completion, and reserved names."""

from __future__ import annotations

from pathlib import Path

import pytest

from rewriter.data_formats import DATA_FORMATS, REFUSED_FORMATS, SOURCE_FORMATS, Reading
from rewriter.errors import Error, NotSupportedError
from rewriter.exec.formats.registry import FORMATS, READERS
from rewriter.session import Session
from rewriter.shell.completion import position


def described(session: Session, table: str) -> dict[str, str]:
    return {row[0]: row[1] for row in session.execute(f"DESCRIBE EXTENDED {table}").fetch()}


@pytest.mark.share(1)
@pytest.mark.parametrize("name", DATA_FORMATS)
def test_create_alter_and_describe_agree_on_the_classes(name: str, tmp_path: Path) -> None:
    format = DATA_FORMATS[name]
    with Session(tmp_path, "duckdb") as session:
        session.execute(f"CREATE TABLE t (a INT) STORED AS {name}")
        shown = described(session, "t")
        classes = (shown["Serde Library"], shown["InputFormat"], shown["OutputFormat"])
        assert classes == (format.classes.serde, format.classes.input, format.classes.output)
        for number, serde in enumerate(format.serdes):
            session.execute(f"ALTER TABLE t SET SERDE '{serde}'")
            create = (
                f"CREATE TABLE t{number} (a INT) ROW FORMAT SERDE '{serde}' "
                f"STORED AS INPUTFORMAT '{format.classes.input}' OUTPUTFORMAT '{format.classes.output}'"
            )
            if name == "csv":
                create = create.replace("(a INT)", "(a STRING)")
            session.execute(create)
            assert described(session, f"t{number}")["Provider"] == name
        for alias in format.aliases:
            session.execute(f"CREATE TABLE {alias}_t (a INT) STORED AS {alias}")
            assert described(session, f"{alias}_t")["Provider"] == name


def test_rows_of_json_in_text_files_are_json(tmp_path: Path) -> None:
    (serde, *_) = DATA_FORMATS["json"].serdes
    with Session(tmp_path, "duckdb") as session:
        session.execute(f"CREATE TABLE t (a INT) ROW FORMAT SERDE '{serde}' STORED AS TEXTFILE")
        session.execute("INSERT INTO t VALUES (1)")
        assert session.execute("SELECT * FROM t").fetch() == [(1,)]
        assert described(session, "t")["Provider"] == "json"


def test_completion_offers_the_formats_that_create_takes(tmp_path: Path) -> None:
    offered = position._FORMATS
    assert offered == tuple(name.upper() for name in DATA_FORMATS)
    with Session(tmp_path, "duckdb") as session:
        for name in offered:
            session.execute(f"CREATE TABLE t_{name} (a INT) STORED AS {name}")
        for name in REFUSED_FORMATS:
            with pytest.raises(NotSupportedError):
                session.execute(f"CREATE TABLE r_{name} (a INT) USING {name}")


def test_no_database_has_the_name_of_files(tmp_path: Path) -> None:
    with Session(tmp_path, "duckdb") as session:
        session.execute("CREATE TABLE t (a INT)")
        for name in SOURCE_FORMATS:
            with pytest.raises(Error, match="cannot be named"):
                session.execute(f"CREATE DATABASE {name}")


def test_each_format_has_the_code_that_its_value_promises() -> None:
    assert FORMATS.keys() == READERS.keys() == DATA_FORMATS.keys()
    assert not DATA_FORMATS.keys() & REFUSED_FORMATS.keys()
    for name, format in DATA_FORMATS.items():
        assert FORMATS[name].name == name
        if Reading.OURS in (format.duckdb, format.spark):
            assert READERS[name].pieces is not None
        assert (READERS[name].values is not None) is format.is_text
