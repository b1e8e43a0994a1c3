"""docs/reference/errors.md: every error that the source of ``rewriter`` raises, with its message and its hint."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import rewriter
from rewriter import errors

SOURCE = Path(rewriter.__file__).parent

_HEAD = """# Errors

Each condition with its SQLSTATE, the forms of its message, and what to do. `‹…›` is a value. The list is generated from
the source by `pytest tests/unit/documents/test_error_page.py --rewrite`. [dialect.md](dialect.md) says when a condition
is raised.

| condition | SQLSTATE | message | what to do |
| --- | --- | --- | --- |
"""


@dataclass(frozen=True, order=True)
class Form:
    """One form of an error and where it is raised. ``message`` and ``hint`` have ``‹…›`` for computed parts."""

    condition: str
    sqlstate: str
    message: str
    hint: str


def page() -> str:
    """Returns the text of docs/reference/errors.md."""
    rows = [
        f"| {_code(form.condition)} | {form.sqlstate} | {_cell(form.message)} | {_cell(form.hint)} |"
        for form in forms()
    ]
    return _HEAD + "\n".join(rows) + "\n"


def forms() -> list[Form]:
    """Returns all forms of errors whose message is in the source, each once, by condition."""
    conditions = set()
    for path in sorted(SOURCE.rglob("*.py")):
        conditions |= set(_forms(ast.parse(path.read_text(encoding="utf-8"))))
    return sorted(conditions)


def _forms(tree: ast.Module) -> Iterator[Form]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        kind = getattr(errors, name, None)
        if not (isinstance(kind, type) and issubclass(kind, errors.Error) and node.args):
            continue
        keywords = {keyword.arg: keyword.value for keyword in node.keywords}
        message = _text(node.args[0])
        if not message.strip("‹… ›"):
            continue
        condition = _text(keywords["condition"]) if "condition" in keywords else kind.condition
        state = _text(keywords["sqlstate"]) if "sqlstate" in keywords else ""
        if not state and "condition" not in keywords:
            state = kind.sqlstate or ""
        yield Form(condition, state, message, _text(keywords["hint"]) if "hint" in keywords else "")


def _text(node: ast.expr) -> str:
    """Returns the words of a text expression, with ``‹…›`` for the computed parts."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.Constant(value=None):
            return ""
        case ast.JoinedStr(values=values):
            return "".join(_text(value) for value in values)
        case ast.FormattedValue():
            return "‹…›"
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _text(left) + _text(right)
        case ast.IfExp(body=body, orelse=orelse):
            texts = [text for text in (_text(body), _text(orelse)) if text.strip("‹… ›")]
            return " / ".join(texts) or "‹…›"
        case _:
            return "‹…›"


def _code(text: str) -> str:
    return f"`{text}`" if text.strip("‹…›") else text


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
