"""The prompt is shown before the session is opened, and needs few modules until then."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from rewriter.shell.prompt import Opening


def test_the_result_is_computed_once_in_another_thread() -> None:
    threads: list[threading.Thread] = []
    ends: list[BaseException | None] = []
    end = threading.Event()

    def then(error: BaseException | None) -> None:
        ends.append(error)
        end.set()

    opening = Opening(lambda: threads.append(threading.current_thread()) or len(threads), then)
    assert opening.opened is None
    assert not threads
    opening.start()
    opening.start()
    assert opening.result() == opening.result() == opening.opened == 1
    assert end.wait(60)
    assert threads != [threading.current_thread()]
    assert ends == [None]


def test_the_error_is_raised_where_the_result_is_needed() -> None:
    error, ends, end = ValueError("no"), list[BaseException | None](), threading.Event()

    def fail() -> int:
        raise error

    def then(seen: BaseException | None) -> None:
        ends.append(seen)
        end.set()

    opening = Opening(fail, then)
    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            opening.result()
    assert opening.opened is None
    assert end.wait(60)
    assert ends == [error]


def test_the_prompt_loads_neither_the_catalog_nor_an_engine() -> None:
    code = """
import sys
import rewriter.cli.main, rewriter.shell.prompt
print([name for name in ("sqlalchemy", "sqlglot", "lark", "duckdb", "pyspark", "pyarrow", "rewriter.session",
    "rewriter.catalog.catalog") if name in sys.modules])
"""
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout.strip() == "[]"
