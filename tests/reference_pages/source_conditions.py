"""The conditions that the source of ``rewriter`` names, and those of Spark: a jar of the installed PySpark has them."""

from __future__ import annotations

import ast
import json
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import rewriter
from rewriter import errors

SOURCE = Path(rewriter.__file__).parent

_NAME = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+(?:\.[A-Z0-9_]+)?")
_EMBEDDED = re.compile(r"\[([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)\] ")
_STATE = re.compile(r"[0-9A-Z]{5}")


@dataclass(frozen=True)
class Raised:
    """A condition in the source, with the SQLSTATE beside it where there is one. ``{}`` stands for what is computed."""

    condition: str
    sqlstate: str | None
    paired: bool
    source: str

    @property
    def main(self) -> str:
        return self.condition.partition(".")[0]


@cache
def spark() -> dict[str, Any]:
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    (jar,) = Path(spec.origin).parent.glob("jars/spark-common-utils_*.jar")
    with zipfile.ZipFile(jar) as archive:
        conditions: dict[str, Any] = json.loads(archive.read("error/error-conditions.json"))
    return conditions


@cache
def raised() -> tuple[Raised, ...]:
    occurrences = [
        Raised(kind.condition, kind.sqlstate, True, f"errors.{kind.__name__}")
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.Error)
    ]
    for path in sorted(SOURCE.rglob("*.py")):
        module = path.relative_to(SOURCE.parent)
        for condition, sqlstate, paired, line in _conditions(ast.parse(path.read_text(encoding="utf-8"))):
            occurrences.append(Raised(condition, sqlstate, paired, f"{module}:{line}"))
    return tuple(occurrences)


def sqlstates() -> dict[str, str]:
    """Returns the SQLSTATE of each condition that is raised, without its more specific name; ``""`` if it has none."""
    states = {error.main: "" for error in raised()}
    states |= {error.main: error.sqlstate for error in raised() if error.sqlstate}
    return states | {name: str(spark()[name]["sqlState"]) for name in states if name in spark()}


def _conditions(tree: ast.Module) -> Iterator[tuple[str, str | None, bool, int]]:
    """Returns the conditions that a module names: each with its SQLSTATE, whether it should have one, and its line."""
    constants = _module_constants(tree)
    fields = {
        node.name: index
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for index, field in enumerate(statement for statement in node.body if isinstance(statement, ast.AnnAssign))
        if isinstance(field.target, ast.Name) and field.target.id == "condition"
    }
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.Call):
            given = {keyword.arg: keyword.value for keyword in node.keywords}
            names = _texts(given.get("condition"), constants)
            states: tuple[str | None, ...] = _texts(given.get("sqlstate"), constants) or (None,)
            if len(states) in (1, len(names)):
                states = states * len(names) if len(states) == 1 else states
                yield from ((name, state, True, line) for name, state in zip(names, states, strict=True))
            if isinstance(node.func, ast.Name) and node.func.id in fields:
                yield from ((name, None, False, line) for name in _texts(node.args[fields[node.func.id]], constants))
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            if node.targets[0].id == "condition":
                yield from ((name, None, False, line) for name in _texts(node.value, constants))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            # Errors that a query raises while it runs carry their condition in the text.
            yield from ((name, None, False, line) for name in _EMBEDDED.findall(node.value))
        for name, state in pairwise(_row(node)):
            # Tables and calls put the SQLSTATE behind the condition.
            if name is not None and state is not None and _NAME.fullmatch(name) and _STATE.fullmatch(state):
                yield name, state, True, line


def _module_constants(tree: ast.Module) -> dict[str, str]:
    """Returns the texts that a module assigns to names."""
    texts = {}
    for node in tree.body:
        if isinstance(node, ast.Assign):
            target, value = node.targets[0], node.value
            pairs: list[tuple[ast.expr, ast.expr]] = [(target, value)]
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                pairs = list(zip(target.elts, value.elts, strict=True))
            for name, text in pairs:
                if isinstance(name, ast.Name) and isinstance(text, ast.Constant) and isinstance(text.value, str):
                    texts[name.id] = text.value
    return texts


def _row(node: ast.AST) -> list[str | None]:
    """Returns the consecutive elements of a call, a tuple or a dict as texts, ``None`` for all others."""
    parts: list[ast.AST | None]
    if isinstance(node, ast.Dict):
        parts = [part for pair in zip(node.keys, node.values, strict=True) for part in pair]
    else:
        parts = [*ast.iter_child_nodes(node)]
    return [part.value if isinstance(part, ast.Constant) and isinstance(part.value, str) else None for part in parts]


def _texts(node: ast.expr | None, constants: dict[str, str]) -> tuple[str, ...]:
    """Returns the possible texts of an expression, with ``{}`` for an unknown part; none if all is unknown."""
    if isinstance(node, ast.Constant):
        return (node.value,) if isinstance(node.value, str) else ()
    if isinstance(node, ast.Name):
        return (constants[node.id],) if node.id in constants else ()
    if isinstance(node, ast.IfExp):
        return (*_texts(node.body, constants), *_texts(node.orelse, constants))
    if isinstance(node, ast.BoolOp):
        return tuple(text for value in node.values for text in _texts(value, constants))
    if isinstance(node, ast.FormattedValue):
        return _texts(node.value, constants) or ("{}",)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return tuple(map("".join, product(_texts(node.left, constants), _texts(node.right, constants))))
    if isinstance(node, ast.JoinedStr):
        return tuple(map("".join, product(*(_texts(part, constants) for part in node.values))))
    return ()
