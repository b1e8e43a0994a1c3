"""The magic in IPython, the page about notebooks as an executed notebook, and jupysql. Needs these packages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell
from page_runner import DOCS, blocks

import rewriter
from rewriter.dbapi import Cursor

PAGE = DOCS / "how-to" / "notebooks.md"


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[InteractiveShell]:
    monkeypatch.chdir(tmp_path)
    InteractiveShell.clear_instance()
    made = InteractiveShell.instance()
    made.run_cell("%load_ext rewriter")
    yield made
    InteractiveShell.clear_instance()


def run(shell: InteractiveShell, cell: str) -> Any:
    result = shell.run_cell(cell)
    result.raise_error()
    return result.result


def html(shell: InteractiveShell, value: object) -> str:
    return str(shell.display_formatter.format(value)[0]["text/html"])


def completed(shell: InteractiveShell, cell: str) -> list[str]:
    with provisionalcompleter():
        return [completion.text for completion in shell.Completer.completions(cell, len(cell))]


def test_a_cell_of_statements(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    run(shell, "%rewriter w --engine duckdb")
    values = "INSERT INTO t VALUES ('<script>'), ('; x')"
    cursor = run(shell, f"%%rewriter\nCREATE TABLE t (s STRING);\n{values};\nSELECT s FROM t ORDER BY s")
    assert isinstance(cursor, Cursor)
    shown = html(shell, cursor)
    assert "<script>" not in shown
    assert ["".join(cell.itertext()) for cell in ElementTree.fromstring(shown).iter("td")] == ["; x", "<script>"]
    assert cursor.fetchall() == [("; x",), ("<script>",)]
    assert run(shell, "%%rewriter -o kept\nSELECT count(*) AS n FROM t") is None
    assert run(shell, "kept.fetchall()") == [(2,)]


def test_a_connection_in_a_variable(shell: InteractiveShell) -> None:
    run(shell, "import rewriter\nown = rewriter.connect('mine', engine='duckdb')")
    assert run(shell, "%%rewriter own\nSELECT 1 AS x").fetchall() == [(1,)]
    run(shell, "%rewriter own")
    assert run(shell, "%%rewriter\nSELECT 2 AS x").fetchall() == [(2,)]


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ("%%rewriter\nSELECT 1", "There is no connection"),
        ("%rewriter w --engine nothing", "There is no engine"),
        ("%%rewriter w -e duckdb\nSELECT 1 AS x;\n SELECT y FROM u", "TABLE_OR_VIEW_NOT_FOUND"),
        ("%%rewriter w -e duckdb\nSELECT 'open", "Hint"),
    ],
)
def test_errors_have_no_traceback(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str], cell: str, text: str
) -> None:
    (Path.cwd() / "w").mkdir()
    with rewriter.connect("w", engine="duckdb") as connection:
        connection.execute("CREATE TABLE t (x INT)")
    capsys.readouterr()
    result = shell.run_cell(cell)
    assert not result.success
    captured = capsys.readouterr()
    assert text in captured.err + captured.out
    assert "Traceback" not in captured.err + captured.out


def test_names_are_completed(shell: InteractiveShell) -> None:
    assert completed(shell, "%%rewriter\nSELECT * FROM vis") == []
    run(shell, "%rewriter w --engine duckdb")
    assert completed(shell, "%%rewriter\nSELECT * FROM vis") == []
    for created in ("DATABASE sales", "TABLE visits (page STRING, pages INT)", "TABLE sales.u (z INT)"):
        run(shell, f"%%rewriter\nCREATE {created}")
    assert completed(shell, "%%rewriter\nSELECT * FROM VIS") == ["visits"]
    offered = completed(shell, "%%rewriter\nSELECT page\nFROM visits WHERE pa")
    assert offered[:2] == ["page", "pages"]
    assert completed(shell, "%%rewriter\nSELECT 1 FROM visits AS v WHERE v.pa") == ["page", "pages"]
    assert completed(shell, "%%rewriter\nSELECT 1 FROM sal") == ["sales."]
    assert completed(shell, "%%rewriter\nSELECT 1 FROM sales.") == ["u"]
    assert "tables" in completed(shell, "%%rewriter\nSELECT 1 FROM information_schema.t")
    assert completed(shell, "vis") == []
    assert "print" in completed(shell, "prin")


def test_the_page_is_an_executed_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import nbclient
    import nbformat

    cells = [block.text for block in blocks(PAGE) if block.language == "ipython"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    resources = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources=resources).execute()
    shown = [output["data"] for cell in notebook.cells for output in cell.get("outputs", []) if "data" in output]
    pages = [data["text/html"] for data in shown]
    for page in pages:
        ElementTree.fromstring(page)
    assert [("<td" in page, "<svg" in page) for page in pages] == [
        *[(False, False)] * 2,
        (True, False),
        *[(False, False)] * 4,
        (True, True),
        (False, True),
        (False, False),  # What jupysql says about the connection, and the rows that it shows.
        (True, False),
    ]
    assert (tmp_path / "flights").is_dir()


def test_jupysql(shell: InteractiveShell) -> None:
    run(shell, "%load_ext sql")
    run(shell, "import rewriter\nconnection = rewriter.connect('w', engine='duckdb')")
    run(shell, "_ = connection.execute('CREATE TABLE t (x INT, s STRING)')")
    run(shell, "_ = connection.execute(\"INSERT INTO t VALUES (1, 'a'), (2, 'b')\")")
    run(shell, "%sql connection --alias w")
    assert [tuple(row) for row in run(shell, "%sql SELECT x, s FROM t ORDER BY x")] == [(1, "a"), (2, "b")]
    assert [tuple(row) for row in run(shell, "%%sql\nSELECT count(*) AS n\nFROM t")] == [(2,)]
