"""Whatever a user can name is in a page of docs/reference: statements, commands, settings, conditions, extras.

The pages of conditions, commands and settings have tests of their own, which compare all of their names:
``test_error_page``, ``test_commands_page``, ``test_settings_page``. ``test_dialect`` looks for an example of each
statement, ``test_shell_page`` for the commands of the shell.
"""

from __future__ import annotations

import re
import tomllib

import pytest
from page_runner import DOCS, ROOT

from rewriter.cli import doctor_checks as doctor
from tests.reference_pages import commands_page, errors_page, settings_names, statements_page
from tests.reference_pages.source_conditions import sqlstates

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
#: Extras of those who work on the project.
DEVELOPMENT = {"bench", "docs", "test"}
REFERENCE = DOCS / "reference"


def _rows(page: str, heading: str) -> dict[str, list[str]]:
    """Returns the rows of a section's tables whose first cell is code, by this code."""
    section = (REFERENCE / page).read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    cells = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| `")]
    return {row[0].strip("`"): [cell.strip() for cell in row[1:]] for row in cells}


def test_each_required_package_has_its_versions() -> None:
    shown = {name: row[0].strip("`") for name, row in _rows("installation.md", "Requirements").items()}
    required = dict(re.fullmatch(r"([\w-]+)(.*)", text).groups() for text in PROJECT["dependencies"])  # type: ignore[union-attr, misc]
    assert shown == required
    assert f"| Python | `{PROJECT['requires-python']}` |" in (REFERENCE / "installation.md").read_text(encoding="utf-8")


def test_each_extra_has_its_packages() -> None:
    shown = {name: re.findall(r"`([^`]+)`", row[0]) for name, row in _rows("installation.md", "Extras").items()}
    assert shown == {name: packages for name, packages in EXTRAS.items() if name not in DEVELOPMENT}
    text = (REFERENCE / "installation.md").read_text(encoding="utf-8")
    assert f"The extras {_listed(sorted(DEVELOPMENT))} are for the development" in text


def test_doctor_checks_the_packages_of_all_extras() -> None:
    assert set(doctor._EXTRAS) == EXTRAS.keys() - DEVELOPMENT


@pytest.mark.parametrize("condition", ["TABLE_OR_VIEW_NOT_FOUND", "MISSING_PARTITIONS", "CONCURRENT_WRITE"])
def test_a_condition_has_an_anchor(condition: str) -> None:
    assert f"\n### {condition}\n" in errors_page.PAGE.read_text(encoding="utf-8")


def test_all_names_are_in_the_pages() -> None:
    """Each kind of name is found in the source, and none is missing in the page of its kind."""
    kinds = {
        errors_page.PAGE: sqlstates().keys(),
        commands_page.PAGE: commands_page.commands().keys(),
        settings_names.PAGE: settings_names.session_settings().keys() | settings_names.variables(),
        statements_page.PAGE: {statement.text for statement in statements_page.statements()},
    }
    for page, names in kinds.items():
        text = page.read_text(encoding="utf-8")
        assert [name for name in names if name not in text] == [], page.name


def _listed(names: list[str]) -> str:
    marked = [f"`{name}`" for name in names]
    return f"{', '.join(marked[:-1])} and {marked[-1]}"
