"""docs/reference/settings.md: its names are exactly those in the source, with their types and defaults."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest

from rewriter.catalog.clusters.definitions import CLUSTER_KEYS
from rewriter.catalog.commit.reserved_properties import _RESERVED as REFUSED
from rewriter.catalog.commit.reserved_properties import COMMENT, IMMUTABLE
from rewriter.catalog.filesystems.options import StoreOptions
from rewriter.catalog.model import partition_commit
from rewriter.display.terminal.rendering import FORMATS
from rewriter.exec.formats.csv_writer import AS_SPARK
from rewriter.runtime import profiles, settings
from rewriter.runtime.connection_settings import PARTS
from rewriter.shell.configuration import Configuration
from tests.reference_pages import settings_names
from tests.reference_pages.page_parts import is_current

TEXT = settings_names.PAGE.read_text(encoding="utf-8")


def _section(title: str) -> str:
    """Returns the text of a section, with those below it."""
    level = re.search(rf"^(#+) {re.escape(title)}$", TEXT, re.MULTILINE)
    assert level, title
    return re.split(rf"^#{{1,{len(level[1])}}} ", TEXT[level.end() :], maxsplit=1, flags=re.MULTILINE)[0]


def _rows(title: str) -> dict[str, list[str]]:
    """Returns the cells of the rows of a section whose first cell is a name, or several."""
    rows = re.findall(r"^\| (`.*) \|$", _section(title), re.MULTILINE)
    cells = [[cell.strip() for cell in row.split(" | ")] for row in rows]
    return {name: row[1:] for row in cells for name in re.findall(r"`([^`]+)`", row[0])}


def test_all_settings_of_a_session_with_type_and_default() -> None:
    shown = _rows("Settings of a session")
    known = settings_names.session_settings()
    assert sorted(shown.keys() - _engine_settings()) == sorted({*known, *settings._ALIASED})
    for name, (type_, default) in known.items():
        cells = shown[name]
        if len(cells) == 2:  # A name of Hive or Spark with one value.
            assert cells[0] == f"`{default}`", name
            continue
        assert not type_ or cells[0] == type_ or name in CLUSTER_KEYS, name
        assert cells[1] == f"`{default}`" if default else "`" not in cells[1], name


def test_aliases_are_explained() -> None:
    shown = _rows("Names of Hive and Spark")
    assert {name: shown[name][-1] for name in settings._ALIASED} == {
        name: f"the same as `{other}`" for name, other in settings._ALIASED.items()
    }


def test_each_setting_of_a_session_is_in_an_example() -> None:
    examples = "\n".join(re.findall(r"```golden\n(.*?)----", TEXT, re.DOTALL))
    names = [name for name in settings_names.session_settings() if not name.startswith(("hive.exec", "spark."))]
    assert [name for name in names if f"SET {name} " not in examples] == []


def test_all_properties_are_there() -> None:
    shown = set(_rows("Properties of a table")) | set(_rows("Properties of a catalog"))
    constants = {*partition_commit._KEYS, COMMENT, IMMUTABLE, *CLUSTER_KEYS}
    names = {name.removesuffix("…").rstrip(".") for name in shown}
    others = {"rewriter.partition_commit.", "cube.sql", AS_SPARK}  # A prefix of names, a file, an option of a writer.
    in_source = {name.rstrip(".") for name in settings_names.properties() - others}
    in_source = {name for name in in_source if not name.startswith("cube.") or name + ".present" not in in_source}
    assert sorted((in_source | constants) - names) == []
    cubes = {name for name in names if name.startswith("cube.")}
    assert sorted(names - in_source - constants - cubes) == []
    assert all(f"`{name}`" in _section("Properties that cannot be set") for name in REFUSED)


def test_properties_of_the_catalog() -> None:
    assert set(_rows("Properties of a catalog")) == set(CLUSTER_KEYS)


def test_all_keys_of_the_file() -> None:
    assert set(_rows("Table profiles")) == {*PARTS, "settings"}
    assert set(_rows("Table clusters")) == set(profiles._ALLOWED)
    assert set(_rows("Table filesystems")) == {field.name for field in fields(StoreOptions)}
    shell = _rows("Table shell")
    assert set(shell) == {field.name for field in fields(Configuration)}
    assert set(re.findall(r"`(\w+)`", shell["format"][0])) == set(FORMATS)
    assert {title for title in profiles._TABLES if f"### Table {title}" in TEXT} == set(profiles._TABLES)


def test_all_environment_variables() -> None:
    shown = set(_rows("Environment variables"))
    assert sorted(settings_names.variables() - shown) == []
    assert sorted(shown - settings_names.variables()) == []


def test_the_settings_of_engines_are_current(request: pytest.FixtureRequest) -> None:
    rewrite = request.config.getoption("--rewrite")
    is_same = is_current(
        settings_names.PAGE, settings_names.MARKER, settings_names.engine_settings_table(), rewrite=rewrite
    )
    assert is_same, "run: pytest tests/unit/documents/test_settings_page.py --rewrite"


def _engine_settings() -> set[str]:
    """Returns the names in the generated table."""
    return set(re.findall(r"`([^` ]+)(?: = [^`]*)?`", settings_names.engine_settings_table())) | {
        name for name in _rows("Settings of a session") if " = " in name
    }
