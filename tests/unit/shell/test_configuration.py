"""The table ``[shell]`` of ``rewriter.toml``."""

from __future__ import annotations

from pathlib import Path

import pytest

from rewriter.errors import InterfaceError
from rewriter.shell.configuration import Configuration, configuration, history_path


def test_the_file_of_the_project_comes_before_that_of_the_user(tmp_path: Path) -> None:
    project, user = tmp_path / "project", tmp_path / "user"
    (user / "rewriter").mkdir(parents=True)
    (project / "below").mkdir(parents=True)
    (user / "rewriter" / "rewriter.toml").write_text('[shell]\nnull = "∅"\nexpanded = "auto"\nvi = true\n')
    (project / "rewriter.toml").write_text(
        '[shell]\nexpanded = "on"\ntiming = false\nmax_rows = 20\n[profiles.default]\nengine = "duckdb"\n'
    )
    chosen = configuration({"XDG_CONFIG_HOME": str(user)}, project / "below")
    assert chosen == Configuration(null="∅", expanded="on", timing=False, vi=True, max_rows=20)
    display = chosen.display(is_prompt=True, format=None, null=None, timing=False)
    assert (display.null, display.expanded, display.timing, display.pager) == ("∅", "on", False, True)
    assert display.max_rows == 20
    display = chosen.display(is_prompt=True, format="csv", null="-", timing=True)
    assert (display.format, display.null, display.timing) == ("csv", "-", True)
    script = chosen.display(is_prompt=False, format=None, null=None, timing=False)
    assert (script.format, script.null, script.expanded, script.pager) == ("table", None, "off", False)
    assert script.max_rows == 1000
    assert configuration({"XDG_CONFIG_HOME": "/nowhere"}, tmp_path) == Configuration()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[shell]\nformatt = 'csv'", "shell.formatt"),
        ("[shell]\ntiming = 1", "shell.timing"),
        ("[shell]\npager = 'rm -rf /'", "shell.pager"),
        ("[shell]\nmax_rows = true", "shell.max_rows"),
        ("[shell]\nmax_rows = '5'", "shell.max_rows"),
        ("shell = 1", "shell"),
    ],
)
def test_mistakes_name_the_file_and_the_key(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "rewriter.toml").write_text(text)
    with pytest.raises(InterfaceError) as caught:
        configuration({"XDG_CONFIG_HOME": "/nowhere"}, tmp_path)
    assert problem in str(caught.value)
    assert str(tmp_path / "rewriter.toml") in str(caught.value)


def test_the_history(tmp_path: Path) -> None:
    assert history_path({"XDG_STATE_HOME": str(tmp_path)}) == tmp_path / "rewriter" / "history"
    assert history_path({"XDG_STATE_HOME": "relative"}).parts[-4:] == (".local", "state", "rewriter", "history")
