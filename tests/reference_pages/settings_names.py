"""The names of all settings, properties and environment variables in the source of ``rewriter``."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import rewriter
import rewriter_pytest
from rewriter.exec import engine_settings
from rewriter.runtime import settings
from tests.reference_pages.expression_texts import modules, texts
from tests.reference_pages.page_parts import REFERENCE, code, plain, table

PAGE = REFERENCE / "settings.md"
MARKER = "engine settings"
#: A name in a table of variables, which are read one by one.
_VARIABLE = re.compile(r"(?:REWRITER|AWS)_(?!ERROR)[A-Z0-9_]+")
_PROPERTY = re.compile(r"(?:rewriter|cube)(?:\.[a-z_]+)+\.?")
#: A file and a group of entry points: texts that look like properties.
_NO_PROPERTIES = {"rewriter.toml", "rewriter.timelines"}
#: A property that is named like a module.
_NO_MODULE = "rewriter.metastore"
#: What the headings of settings of Hive and Spark say that is not one thing: all other settings.
_OTHERS = "results, or which statements are accepted"


def session_settings() -> dict[str, tuple[str, str]]:
    """Returns the settings of a session that are no other name of one: type and default, by name."""
    return {setting.name: (_type(setting), setting.default) for setting in settings._SETTINGS.values()}


def _type(setting: settings._Setting) -> str:
    """Returns the type of a setting as the page names it, or the empty text if its check does not say it."""
    if setting.check is settings._boolean:
        return "boolean"
    choices = settings._CHOICES.get(setting.check)
    if choices is not None:
        listed = [f"`{choice}`" for choice in choices]
        return f"{', '.join(listed[:-1])} or {listed[-1]}"
    minimum = inspect.getclosurevars(setting.check).nonlocals.get("minimum")
    return "" if minimum is None else f"whole number from {minimum}"


def properties() -> set[str]:
    """Returns the names of properties, and beginnings of names, that the source has as texts."""
    found = set()
    for module in modules().values():
        values = (node for node in module.nodes if isinstance(node, ast.Constant | ast.JoinedStr))
        for node in values:
            found |= {text for text in texts(node, module, {}) if _PROPERTY.fullmatch(text)}
    return {name for name in found - _NO_PROPERTIES if not _is_module(name) and name not in session_settings()}


def _is_module(name: str) -> bool:
    parts = name.rstrip(".").split(".")
    return not name.startswith(_NO_MODULE) and any(
        ".".join(parts[:count]) in modules() for count in range(2, len(parts) + 1)
    )


def variables() -> set[str]:
    """Returns the names of the environment variables that the source reads."""
    found = set()
    for path in [*Path(rewriter.__file__).parent.rglob("*.py"), Path(rewriter_pytest.__file__)]:
        found |= set(_variables(ast.parse(path.read_text(encoding="utf-8"))))
    return found


def _variables(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        name: ast.expr | None = None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and "environ" in ast.unparse(node.func):
            name = node.args[0] if node.args else None
        elif isinstance(node, ast.Subscript) and ast.unparse(node.value) == "os.environ":
            name = node.slice
        if isinstance(name, ast.Constant) and isinstance(name.value, str):
            yield name.value
        elif isinstance(node, ast.Constant) and _VARIABLE.fullmatch(str(node.value)):
            yield str(node.value)


def engine_settings_table() -> str:
    """Returns the settings of Hive and Spark that would change results, by what they would change."""
    rows: dict[str, list[str]] = {}
    for setting in engine_settings._settings().values():
        if setting.changes and setting.changes != _OTHERS:
            text = setting.name if setting.value is None else f"{setting.name} = {setting.value}"
            rows.setdefault(setting.changes, []).append(code(text))
    count = sum(setting.changes == _OTHERS for setting in engine_settings._settings().values())
    cells = [(plain(changes), "<br>".join(names)) for changes, names in rows.items()]
    listed = table(("would change", "settings, with the value in effect"), cells)
    return f"{listed}\n{count} other settings would change {_OTHERS}. SET refuses to change them, too.\n"
