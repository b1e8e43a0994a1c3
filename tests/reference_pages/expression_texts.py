"""The possible texts of an expression of the source, without running it. ``‹…›`` stands for a computed part."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from pathlib import Path

import rewriter

SOURCE = Path(rewriter.__file__).parent
COMPUTED = "‹…›"
#: An expression with more alternatives than this is computed.
_MOST_TEXTS = 6

Function = ast.FunctionDef | ast.AsyncFunctionDef
#: The possible texts of names.
Names = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Module:
    """A module of the source. ``nodes`` are all of its syntax tree, ``constants`` what it assigns to names.

    ``functions`` has the first one of each name, and ``imports`` the module and name of each imported name.
    """

    name: str
    nodes: tuple[ast.AST, ...]
    constants: dict[str, ast.expr] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)
    imports: dict[str, tuple[str, str]] = field(default_factory=dict)


@cache
def modules() -> Mapping[str, Module]:
    """Returns the modules of ``rewriter`` by name."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE.parent).with_suffix("").parts
        name = ".".join(part for part in parts if part != "__init__")
        found[name] = _module(name, ast.parse(path.read_text(encoding="utf-8")))
    return found


def _module(name: str, tree: ast.Module) -> Module:
    module = Module(name, tuple(ast.walk(tree)))
    for node in module.nodes:
        if isinstance(node, Function):
            module.functions.setdefault(node.name, node)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            module.imports.update({alias.asname or alias.name: (node.module, alias.name) for alias in node.names})
    for statement in tree.body:
        if isinstance(statement, ast.Assign):
            module.constants.update(_assigned(statement.targets[0], statement.value))
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            module.constants.update(_assigned(statement.target, statement.value))
    return module


def _assigned(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for one, its_value in zip(target.elts, value.elts, strict=True):
            yield from _assigned(one, its_value)


def parameters(function: Function) -> list[str]:
    """Returns the names of a function's parameters, without ``self``."""
    given = function.args
    return [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs) if one.arg not in ("self", "cls")]


def placeholder(name: str) -> str:
    """Returns what stands for a parameter's text."""
    return f"\0{name}\0"


def filled(text: str, given: Names) -> tuple[str, ...]:
    """Returns a text with the texts of parameters in place of their placeholders."""
    pieces = re.split(r"\0(\w+)\0", text)
    literals, names = pieces[::2], pieces[1::2]
    parts: list[tuple[str, ...]] = [(literals[0],)]
    for name, literal in zip(names, literals[1:], strict=True):
        parts += [given.get(name, (COMPUTED,)), (literal,)]
    return _joined(parts)


def arguments(function: Function, call: ast.Call, module: Module, names: Names) -> dict[str, tuple[str, ...]]:
    """Returns the texts of a function's parameters in a call."""
    found = _defaults(function)
    for name, argument in zip(parameters(function), call.args, strict=False):
        found[name] = texts(argument, module, names)
    for keyword in call.keywords:
        if keyword.arg is not None:
            found[keyword.arg] = texts(keyword.value, module, names)
    return found


def _defaults(function: Function) -> dict[str, tuple[str, ...]]:
    given = function.args
    positional = [*given.posonlyargs, *given.args]
    pairs = list(zip(positional[len(positional) - len(given.defaults) :], given.defaults, strict=True))
    pairs += [(one, value) for one, value in zip(given.kwonlyargs, given.kw_defaults, strict=True) if value is not None]
    found: dict[str, tuple[str, ...]] = dict.fromkeys(parameters(function), (COMPUTED,))
    for parameter, value in pairs:
        if isinstance(value, ast.Constant) and (value.value is None or isinstance(value.value, str)):
            found[parameter.arg] = (value.value or "",)
    return found


@dataclass(frozen=True)
class Locals:
    """The assignments to names in a function, each with the lines of the block that it is in."""

    module: Module
    parameters: tuple[str, ...]
    assignments: tuple[tuple[ast.Assign | ast.AugAssign, int, int], ...]

    @classmethod
    def of(cls, function: Function, module: Module) -> Locals:
        """Returns the assignments in the order of their lines."""
        found = []
        for node in ast.walk(function):
            for block in (getattr(node, name, None) for name in ("body", "orelse", "finalbody")):
                if isinstance(block, list) and block:
                    lines = block[0].lineno, block[-1].end_lineno or 0
                    found += [(one, *lines) for one in block if isinstance(one, ast.Assign | ast.AugAssign)]
        return cls(module, tuple(parameters(function)), tuple(sorted(found, key=lambda row: row[0].lineno)))

    def environments(self, line: int) -> list[dict[str, tuple[str, ...]]]:
        """Returns the texts of the names at a line; of parameters, their placeholders. An assignment in a block around
        the line replaces the earlier ones. There are several, where a table of the module sets several names at once:
        one for each row of it.
        """
        found: list[dict[str, tuple[str, ...]]] = [{name: (placeholder(name),) for name in self.parameters}]
        for node, first, last in self.assignments:
            if (node.end_lineno or 0) >= line:
                continue
            is_certain = first <= line <= last
            if isinstance(node, ast.AugAssign):
                values = {node.target.id: (COMPUTED,)} if isinstance(node.target, ast.Name) else {}
                found = [{**names, **values} for names in found]
            elif isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Subscript):
                rows = list(_rows(node.value.value, node.targets[0], self.module))
                found = [{**names, **row} for names in found for row in rows] or found
            else:
                for names in found:
                    self._assign(node, names, is_certain)
        return found

    def _assign(self, node: ast.Assign, names: dict[str, tuple[str, ...]], is_certain: bool) -> None:
        values = {
            name: texts(value, self.module, names)
            for target in node.targets
            for name, value in _assigned(target, node.value)
        }
        for name, possible in values.items():
            names[name] = possible if is_certain else tuple(dict.fromkeys((*names.get(name, ()), *possible)))


def _rows(table: ast.expr, target: ast.Tuple, module: Module) -> Iterator[dict[str, tuple[str, ...]]]:
    """Yields the names of ``target`` with the texts of each row of a dict of tuples."""
    value = module.constants.get(table.id) if isinstance(table, ast.Name) else None
    names = [name.id for name in target.elts if isinstance(name, ast.Name)]
    for row in value.values if isinstance(value, ast.Dict) else ():
        if isinstance(row, ast.Tuple) and len(row.elts) == len(names):
            yield {name: texts(cell, module, {}) for name, cell in zip(names, row.elts, strict=True)}


def texts(node: ast.expr | None, module: Module, names: Names) -> tuple[str, ...]:
    """Returns the possible texts of an expression, each once; of ``None`` and of no expression, the empty text."""
    found = tuple(dict.fromkeys(_texts(node, module, names)))
    return found if len(found) <= _MOST_TEXTS else (COMPUTED,)


def _texts(node: ast.expr | None, module: Module, names: Names) -> Iterable[str]:
    match node:
        case None | ast.Constant(value=None):
            return ("",)
        case ast.Constant(value=str(text)):
            return (text,)
        case ast.Name(id=name):
            return _of_name(name, module, names)
        case ast.JoinedStr(values=values):
            return _joined(texts(value, module, names) for value in values)
        case ast.FormattedValue(value=value):
            return texts(value, module, names)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _joined((texts(left, module, names), texts(right, module, names)))
        case ast.IfExp(body=body, orelse=orelse):
            return (*texts(body, module, names), *texts(orelse, module, names))
        case ast.BoolOp(op=ast.Or(), values=values):
            return [text for value in values for text in texts(value, module, names) if text]
        case _:
            return (COMPUTED,)


def _of_name(name: str, module: Module, names: Names) -> tuple[str, ...]:
    if name in names:
        return names[name]
    if name in module.constants:
        value = module.constants[name]
        if isinstance(value, ast.Constant) and type(value.value) is int:
            return (f"{value.value:,}",)
        is_text = isinstance(value, ast.Constant | ast.JoinedStr | ast.BinOp)
        return texts(value, module, {}) if is_text else (COMPUTED,)
    imported = modules().get(module.imports.get(name, ("", ""))[0])
    if imported is not None and module.imports[name][1] in imported.constants:
        return _of_name(module.imports[name][1], imported, {})
    return (COMPUTED,)


def _joined(parts: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    alternatives = list(parts)
    count = 1
    for part in alternatives:
        count *= len(part)
    if count > _MOST_TEXTS:
        alternatives = [part if len(part) == 1 else (COMPUTED,) for part in alternatives]
    return tuple("".join(pieces) for pieces in product(*alternatives))


def is_computed(text: str) -> bool:
    """Tests whether a text has no words of its own."""
    return not re.sub(r"\0\w+\0", "", text).strip(f"{COMPUTED} .:,;()'\"")
