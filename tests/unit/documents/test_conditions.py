"""Conditions of errors: those that Spark has carry Spark's SQLSTATE, and docs/reference/dialect.md lists all of them.

The conditions are read out of the source of ``rewriter``; Spark's own stand in a jar of the installed PySpark.
"""

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
PAGE = SOURCE.parent / "docs" / "reference" / "dialect.md"

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


def test_conditions_of_spark_carry_its_sqlstate() -> None:
    wrong = [
        f"{error.source}: {error.condition} {error.sqlstate}, Spark {spark()[error.main]['sqlState']}"
        for error in raised()
        if error.paired and error.main in spark() and error.sqlstate != spark()[error.main]["sqlState"]
    ]
    assert wrong == []


def test_conditions_of_spark_are_spelled_as_there() -> None:
    wrong = [
        f"{error.source}: {error.condition}"
        for error in raised()
        if error.main in spark() and not _known(error.condition)
    ]
    assert wrong == []


def test_one_condition_has_one_sqlstate() -> None:
    states: dict[str, set[str]] = {}
    for error in raised():
        if error.sqlstate is not None:
            states.setdefault(error.main, set()).add(error.sqlstate)
    assert {name: codes for name, codes in states.items() if len(codes) > 1} == {}


def test_the_page_lists_all_conditions_of_spark() -> None:
    used = {error.main: str(spark()[error.main]["sqlState"]) for error in raised() if error.main in spark()}
    _check_table("spark-conditions", used)


def test_the_page_lists_all_conditions_of_ours() -> None:
    own = {error.main: "" for error in raised() if error.main not in spark()}
    own |= {error.main: error.sqlstate for error in raised() if error.sqlstate and error.main not in spark()}
    _check_table("our-conditions", own)


def _check_table(marker: str, wanted: dict[str, str]) -> None:
    """Checks that the table between two comments of the page has a row for each condition, with an explanation."""
    text = PAGE.read_text(encoding="utf-8")
    part = text.partition(f"<!-- {marker} -->")[2].partition(f"<!-- end of {marker} -->")[0]
    rows = re.findall(r"^\| `([A-Z0-9_]+)` \| ([0-9A-Z]*) *\| *(.*?) *\|$", part, flags=re.MULTILINE)
    lacking = sorted(wanted.keys() - {name for name, _, _ in rows})
    assert lacking == [], "\n".join(f"| `{name}` | {wanted[name]} | |" for name in lacking)
    assert sorted({name for name, _, _ in rows} - wanted.keys()) == [], "nothing raises them"
    assert [(name, state) for name, state, _ in rows if state != wanted[name]] == []
    assert [name for name, _, when in rows if not when] == [], "say when"
    assert [name for name, _, _ in rows] == sorted(wanted)


def _known(condition: str) -> bool:
    main, _, sub = condition.partition(".")
    subs = spark()[main].get("subClass", {})
    if not sub:
        return main in spark()
    pattern = ".*".join(map(re.escape, sub.split("{}")))
    return any(re.fullmatch(pattern, subcondition) for subcondition in subs)


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
            both = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
            pairs = zip(target.elts, value.elts, strict=True) if both else [(target, value)]
            for name, text in pairs:
                if isinstance(name, ast.Name) and isinstance(text, ast.Constant) and isinstance(text.value, str):
                    texts[name.id] = text.value
    return texts


def _row(node: ast.AST) -> list[str | None]:
    """Returns the consecutive elements of a call, a tuple or a dict as texts, ``None`` for all others."""
    if isinstance(node, ast.Dict):
        parts = [part for pair in zip(node.keys, node.values, strict=True) for part in pair]
    else:
        parts = list(ast.iter_child_nodes(node))
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
