"""A URI with a password or a signature is never stored in the catalog, and no text for people has its secret."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import rewriter
from rewriter.cli.main import main
from rewriter.display.html.results import plan_html, result_html
from rewriter.errors import Error, NotSupportedError, ParseError, Span, render
from rewriter.session import Session
from rewriter.shell import prompt
from rewriter.shell.configuration import Configuration
from rewriter.uris import has_credentials, mask_credentials, shown

SECRET = "t0p/S3cret"
#: URIs whose secret works for those who read them.
URIS = [
    f"s3://KEY:{SECRET}@bucket/x",
    f"S3A://{SECRET.replace('/', '')}@bucket/x",
    f"https://me:{SECRET}@host:81/x",
    f"s3://bucket/x?X-Amz-Date=1&X-Amz-Signature={SECRET}",
    f"https://account.blob.core.windows.net/c/x?sv=2024&sig={SECRET}",
]


def _has_secret(text: object) -> bool:
    return SECRET in str(text) or SECRET.replace("/", "") in str(text)


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", "duckdb") as opened:
        for statement in (
            "CREATE TABLE t (n BIGINT) PARTITIONED BY (d STRING)",
            "CREATE TABLE u (n BIGINT) PARTITIONED BY (d STRING)",
            "CREATE VIEW v AS SELECT 1 AS a",
            "CREATE DATABASE b",
            "CREATE CUBE c (n BIGINT MEASURE SUM, at TIMESTAMP TIME)",
            "CREATE FACT f OF CUBE c STORED IN (TABLE t PERIOD DAILY PARTITIONED BY at AS (d))",
        ):
            opened.execute(statement)
        yield opened


def _failure(session: Session, statement: str) -> str:
    try:
        session.execute(statement)
    except Error as error:
        return error.message
    return ""


STORED = [
    "CREATE VIEW w AS SELECT * FROM parquet.`{uri}`",
    "CREATE OR REPLACE VIEW v AS SELECT * FROM parquet.`{uri}`",
    "CREATE TEMPORARY VIEW w AS SELECT * FROM parquet.`{uri}`",
    "CREATE VIEW w AS SELECT '{uri}' AS a",
    "CREATE VIEW w (a COMMENT '{uri}') AS SELECT 1",
    "CREATE VIEW w COMMENT 'at {uri} now' AS SELECT 1 AS a",
    "CREATE VIEW w TBLPROPERTIES ('k' = '{uri}') AS SELECT 1 AS a",
    "ALTER VIEW v AS SELECT * FROM parquet.`{uri}`",
    "CREATE TABLE w (n INT) TBLPROPERTIES ('k' = '{uri}')",
    "CREATE TABLE w (n INT COMMENT '{uri}')",
    "CREATE TABLE w (n INT) COMMENT '{uri}'",
    "CREATE TABLE w (n STRING DEFAULT '{uri}')",
    "ALTER TABLE u SET TBLPROPERTIES ('k' = '{uri}')",
    "ALTER TABLE u ALTER COLUMN n COMMENT '{uri}'",
    "ALTER TABLE u ADD COLUMNS (m STRING COMMENT '{uri}')",
    "COMMENT ON TABLE u IS '{uri}'",
    "CREATE DATABASE w COMMENT '{uri}'",
    "CREATE DATABASE w WITH DBPROPERTIES ('k' = '{uri}')",
    "ALTER DATABASE b SET DBPROPERTIES ('k' = '{uri}')",
    "CREATE CUBE w (n BIGINT MEASURE SUM, x STRING COMMENT '{uri}', at TIMESTAMP TIME)",
    "CREATE FACT w OF CUBE c STORED IN (TABLE u PERIOD DAILY PARTITIONED BY at AS (d) COMPLETE WITH d IN ('{uri}'))",
    "CREATE FACT w OF CUBE c STORED IN (RAW TABLE u WITH (n = length('{uri}')) TIME at AS (d))",
    "ALTER FACT f ADD STORAGE (TABLE u PERIOD MONTHLY PARTITIONED BY at AS (d = '{uri}'))",
    "CREATE EXTERNAL TABLE w (n INT) LOCATION '{uri}'",
    "CREATE DATABASE w LOCATION '{uri}'",
    "ALTER TABLE t ADD PARTITION (d = '2024-01-01') LOCATION '{uri}'",
]


@pytest.mark.share(1)
@pytest.mark.parametrize("statement", STORED)
def test_no_statement_stores_a_secret(session: Session, statement: str) -> None:
    before = session.snapshot().sequence
    for uri in URIS:
        text = statement.replace("{uri}", uri)
        with pytest.raises(Error) as caught:
            session.execute(text)
        for message in (str(caught.value), repr(caught.value), caught.value.object, render(caught.value, text)):
            assert not _has_secret(message), message
    assert session.snapshot().sequence == before
    # The same statement without the secret fails for no such reason.
    plain = statement.replace("{uri}", "s3://bucket/x@1")
    assert "URI with credentials" not in _failure(session, plain)


def test_the_reason_is_said_where_the_uri_stands(session: Session) -> None:
    text = f"CREATE VIEW w AS SELECT * FROM parquet.`{URIS[0]}`"
    with pytest.raises(NotSupportedError, match="The definition of w has a URI with credentials") as caught:
        session.execute(text)
    assert caught.value.position == Span(text.index("`"), len(text))
    assert "Write the URI without them" in str(caught.value.hint)


def test_what_an_older_catalog_has_can_be_removed(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("rewriter.catalog.commit.reserved_properties.has_credentials", lambda text: False)
        session.execute(f"ALTER TABLE u SET TBLPROPERTIES ('k' = '{URIS[0]}')")
    session.execute("INSERT INTO u VALUES (1, 'x')")
    session.execute("ALTER TABLE u SET TBLPROPERTIES ('other' = '1')")
    session.execute("ALTER TABLE u RENAME TO u2")
    session.execute("ALTER TABLE u2 UNSET TBLPROPERTIES ('k')")
    assert not _has_secret(list(session.execute("SHOW CREATE TABLE u2").rows()))


#: Statements that name a URI, and fail or return something about it.
SHOWN = [
    "SELECT * FROM parquet.`{uri}`",
    "SELECT * FROM csv.`{uri}`",
    "DESCRIBE parquet.`{uri}`",
    "INSERT OVERWRITE DIRECTORY '{uri}' SELECT 1",
    "INSERT INTO t SELECT * FROM orc.`{uri}`",
    "LOAD DATA INPATH '{uri}' INTO TABLE u PARTITION (d = 'x')",
    "EXPLAIN SELECT COUNT(*) FROM t WHERE d = '{uri}'",
    "EXPLAIN REWRITE SELECT '{uri}' AS a FROM u",
    "EXPLAIN ENGINE SELECT COUNT(*) FROM u WHERE d LIKE '{uri}%'",
    "EXPLAIN SCAN SELECT n FROM u WHERE d = '{uri}'",
    "EXPLAIN SCAN SHOW PARTITIONS u WHERE d = '{uri}'",
    "EXPLAIN INSERT INTO u PARTITION (d = '{uri}') SELECT 1",
    "SHOW PARTITIONS u PARTITION (d = '{uri}') nonsense",
    "DROP VIEW `{uri}`",
    "SELECT CAST('{uri}' AS INT)",
    "SELECT '{uri}",
    "SET rewriter.strict = '{uri}'",
    "SELECT nosuch('{uri}')",
]


@pytest.mark.share(1)
@pytest.mark.parametrize("statement", SHOWN)
def test_no_text_for_people_has_a_secret(session: Session, statement: str) -> None:
    for uri in URIS:
        text = statement.replace("{uri}", uri)
        try:
            result = session.execute(text)
        except Error as error:
            shown_texts = [str(error), repr(error), error.object, error.hint, render(error, text)]
        else:
            rows = list(result.rows())
            shown_texts = [rows, result.warnings]
            if result.plan is not None:
                shown_texts.append(plan_html(result.plan))
            if statement.startswith("EXPLAIN"):
                shown_texts.append(result_html(session.execute(text)))
        for shown_text in shown_texts:
            assert not _has_secret(shown_text), shown_text
    log = list(session.execute("SELECT * FROM system.queries").rows())
    assert len(log) > len(URIS)
    assert not _has_secret(log)


def test_the_text_of_a_statement_keeps_the_rest(session: Session) -> None:
    session.execute(f"SELECT 1 AS `a b` -- {URIS[0]}, it's me@example.org?")
    texts = [row[3] for row in session.execute("SELECT * FROM system.queries").rows()]
    assert "SELECT 1 AS `a b` -- s3://…@bucket/x, it's me@example.org?" in texts


def test_values_are_no_messages(session: Session) -> None:
    """Rows are the user's data: they are stored and returned as they are."""
    session.execute(f"INSERT INTO u VALUES (1, '{URIS[0]}')")
    assert [row[0] for row in session.execute("SELECT d FROM u").rows()] == [URIS[0]]


def test_the_caret_stays_below_what_is_wrong() -> None:
    text = f"SELECT * FROM parquet.`{URIS[0]}` WHERE wrong"
    start = text.index("wrong")
    line, caret = render(ParseError("No.", position=Span(start, start + 5)), text).splitlines()[1:3]
    assert line[caret.index("^") :] == "wrong"
    assert not _has_secret(line)


def test_the_command_line_and_the_dbapi(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    warehouse = str(tmp_path / "w")
    for uri in URIS:
        script = tmp_path / "s.sql"
        script.write_text(f"SELECT 1;\nSELECT * FROM parquet.`{uri}`;\n")
        for arguments in (["-e", f"SELECT * FROM parquet.`{uri}`"], ["-f", str(script)]):
            assert main(["sql", "-w", warehouse, "--engine", "duckdb", *arguments]) == 1
        main(["rewrite", "-w", warehouse, f"SELECT * FROM parquet.`{uri}` WHERE"])
        output = capsys.readouterr()
        assert output.err
        assert not _has_secret(output)
    connection = rewriter.connect(warehouse, engine="duckdb")
    with pytest.raises(rewriter.Error) as caught:
        connection.cursor().execute(f"SELECT * FROM parquet.`{URIS[3]}`")
    assert not _has_secret(caught.value)
    connection.close()


@pytest.mark.share(1)
@pytest.mark.parametrize("uri", URIS)
def test_functions_of_texts(uri: str) -> None:
    assert has_credentials(uri)
    assert has_credentials(f"see <{uri}> and 'more'")
    for text in (
        shown(uri),
        mask_credentials(uri),
        mask_credentials(f"x '{uri}', y"),
        mask_credentials(uri, lambda secret: "*" * len(secret)),
    ):
        assert not _has_secret(text)
    assert mask_credentials(mask_credentials(uri)) == mask_credentials(uri)


@pytest.mark.share(1)
@pytest.mark.parametrize(
    "text",
    [
        "s3://bucket/a@b/c=d",
        "http://host:8080/a@b",
        "https://host/a?page=1&q=x:y@z",
        "mail me@host.org: a://",
        "local[2] spark://a:7077,b:7077",
        "WHERE u LIKE '%://%:%@%'",
        "file:///a@b:c@d",
        "Write rewriter:///path/to/warehouse?engine=duckdb.",
        "write postgresql+psycopg://user:password@host:5432/database",
    ],
)
def test_texts_without_secrets(text: str) -> None:
    assert not has_credentials(text)


def test_hints_stay_as_they_are() -> None:
    for text in (
        "Write rewriter:///path/to/warehouse?engine=duckdb.",
        "write postgresql+psycopg://user:password@host:5432/database",
    ):
        assert mask_credentials(text) == text


def test_the_history_of_the_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file has no secret, and any text can be written; the session recalls what was typed."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    history = prompt._history(Configuration())
    for uri in URIS:
        history.append_string(f"SELECT * FROM parquet.`{uri}`")
    history.append_string("SELECT '\ud800'")
    written = (tmp_path / "rewriter" / "history").read_text(encoding="utf-8")
    assert not _has_secret(written)
    assert r"SELECT '\ud800'" in written
    assert URIS[0] in history.get_strings()[0]
