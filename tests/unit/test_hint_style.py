"""Hints have one style: they begin with a capital or with code, and end with a full stop or a question mark."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import rewriter

_SOURCE = Path(rewriter.__file__).parent
_BEGIN = re.compile(r"[A-Z`'\\…(\[]")
#: A value in an f-string, whose text is not known.
_VALUE = "\0"


def _texts(node: ast.expr) -> Iterator[str]:
    """Yields the texts that an expression may have, each value in an f-string as ``_VALUE``."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.JoinedStr(values=values):
            yield "".join(part.value if isinstance(part, ast.Constant) else _VALUE for part in values)  # type: ignore[misc]
        case ast.IfExp(body=body, orelse=orelse):
            yield from _texts(body)
            yield from _texts(orelse)


def hints(source: str) -> Iterator[tuple[int, str]]:
    """Yields the line and the text of each hint that an error of a module has in its call."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.keyword) and node.arg == "hint":
            yield from ((node.value.lineno, text) for text in _texts(node.value) if text)


def has_style(hint: str) -> bool:
    return (
        (hint.startswith(_VALUE) or _BEGIN.match(hint) is not None)
        and hint[-1] in f".?{_VALUE}"
        and not re.search(r"[^.]\.[.,;]", hint)
    )


def test_hints_begin_with_a_capital_and_end_with_a_full_stop() -> None:
    wrong = [
        f"{path.relative_to(_SOURCE)}:{line}: {hint}"
        for path in sorted(_SOURCE.rglob("*.py"))
        for line, hint in hints(path.read_text(encoding="utf-8"))
        if not has_style(hint)
    ]
    assert not wrong, "\n".join(wrong)


def test_a_hint_of_another_style_is_found() -> None:
    source = 'f(hint="choose another name")\nf(hint=f"Drop {x} first")\nf(hint="A." if x else "Write b., or c.")'
    assert [line for line, hint in hints(source) if not has_style(hint)] == [1, 2, 3]
