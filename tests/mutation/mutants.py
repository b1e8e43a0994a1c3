"""Mutants of a module: copies that differ in one place of one function.

A mutant changes a comparison, a boundary, a connective, an arithmetic operator, a number, TRUE or FALSE, a returned
value, a choice by ``if``, a filter of a comprehension, ``min``, ``max``, ``any`` or ``all``; or it removes a statement
that has an effect: a call, an assignment to a part of a value, ``raise``, ``continue`` or ``break``. The code outside
of functions, texts, defaults of parameters, ``assert`` and ``assert_never`` stay.
"""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

from tests.mutation.subjects import ROOT

_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
#: Fields of nodes that stay: those that run once, at import, and patterns of ``match``.
_KEPT_FIELDS = {"annotation", "returns", "decorator_list", "pattern"}
_FUNCTIONS = {"min": "max", "max": "min", "any": "all", "all": "any"}


@dataclass(frozen=True)
class Mutant:
    """A mutant: ``new`` stands in the module's tree where ``old`` stood."""

    path: Path
    #: Such as ``timeline/ranges.py RangeSet.add: a < b → a <= b``, with a number where a function has several of them.
    #: It does not depend on the lines above, so that lists of names last.
    name: str
    #: The line of the changed expression, and the first line of its statement.
    line: int
    first_line: int
    tree: ast.Module
    old: ast.AST
    new: ast.AST

    def code(self) -> CodeType:
        """Returns the compiled module. Changes the tree: call it once, in a process that ends with the mutant."""
        tree = ast.fix_missing_locations(_Replacement(self.old, self.new).visit(self.tree))
        return compile(tree, str(self.path), "exec")


def mutants(path: Path) -> list[Mutant]:
    """Returns the mutants of a module, in the order of its functions."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    module = path.relative_to(ROOT / "rewriter").as_posix()
    occurrences: Counter[str] = Counter()
    result = []
    for function, first_line, old, new in _functions(tree, ""):
        name = f"{module} {function}: {_text(old)} → {_text(new)}"
        occurrences[name] += 1
        number = f" ({occurrences[name]})" if occurrences[name] > 1 else ""
        result.append(Mutant(path, name + number, old.lineno, first_line, tree, old, new))  # type: ignore[attr-defined]
    return result


def sample(pool: Sequence[Mutant], number: int, seed: int) -> list[Mutant]:
    """Returns so many mutants: those whose names have the smallest digests, so that a change of the code leaves most
    of them.
    """
    return sorted(pool, key=lambda mutant: hashlib.sha256(f"{seed} {mutant.name}".encode()).digest())[:number]


class _Replacement(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return ast.copy_location(self.new, node) if node is self.old else self.generic_visit(node)


def _text(node: ast.AST) -> str:
    return " ".join(ast.unparse(node).split()) if not isinstance(node, ast.Pass) else "(removed)"


def _functions(node: ast.AST, qualifier: str) -> Iterator[tuple[str, int, ast.AST, ast.AST]]:
    """Yields the name of each function of a module or class with the first line of a statement, a part of it, and what
    this becomes.
    """
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{qualifier}{child.name}.")
        elif isinstance(child, ast.FunctionDef):
            body = child.body[1:] if ast.get_docstring(child, clean=False) is not None else child.body
            for statement in body:
                for first_line, old, new in _changes(statement, statement.lineno):
                    yield qualifier + child.name, first_line, old, new


def _changes(node: ast.AST, first_line: int) -> Iterator[tuple[int, ast.AST, ast.AST]]:
    """Yields the changes of a statement or expression and all its parts, with the first lines of their statements."""
    if isinstance(node, (ast.Assert, ast.JoinedStr, ast.arguments)) or _is_unreachable(node):
        return
    if isinstance(node, ast.stmt):
        first_line = node.lineno
        yield from ((first_line, old, new) for old, new in _changed_statements(node))
    elif isinstance(node, ast.expr):
        yield from ((first_line, old, new) for old, new in _changed_expressions(node))
    for field, value in ast.iter_fields(node):
        if field in _KEPT_FIELDS:
            continue
        for child in value if isinstance(value, list) else [value]:
            # zip(strict=True) states what holds already.
            if isinstance(child, ast.AST) and not (isinstance(child, ast.keyword) and child.arg == "strict"):
                yield from _changes(child, first_line)


def _is_unreachable(node: ast.AST) -> bool:
    match node:
        case ast.Expr(ast.Call(ast.Name("assert_never"))) | ast.Expr(ast.Constant()):
            return True
    return False


def _changed_statements(node: ast.stmt) -> Iterator[tuple[ast.AST, ast.AST]]:
    match node:
        case ast.If(test=test):
            yield test, ast.Constant(True)
            yield test, ast.Constant(False)
        case ast.Return(value=value) if value is not None and not isinstance(value, ast.Constant):
            yield node, ast.Return(ast.Constant(None))
        case ast.Continue():
            yield node, ast.Break()
            yield node, ast.Pass()
        case ast.Break():
            yield node, ast.Continue()
            yield node, ast.Pass()
        case ast.Expr() | ast.AugAssign() | ast.Raise() | ast.Delete():
            yield node, ast.Pass()
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield node, ast.Pass()


def _changed_expressions(node: ast.expr) -> Iterator[tuple[ast.AST, ast.AST]]:
    match node:
        case ast.Compare(left, [operator, *others], comparators):
            for changed in _COMPARISONS[type(operator)]:
                yield node, ast.Compare(left, [changed(), *others], comparators)
            for number, operator in enumerate(others, 1):
                for changed in _COMPARISONS[type(operator)]:
                    operators = [*node.ops[:number], changed(), *node.ops[number + 1 :]]
                    yield node, ast.Compare(left, operators, comparators)
        case ast.BoolOp(operator, values):
            yield node, ast.BoolOp(ast.Or() if isinstance(operator, ast.And) else ast.And(), values)
            for number in range(len(values)):
                rest = [*values[:number], *values[number + 1 :]]
                yield node, rest[0] if len(rest) == 1 else ast.BoolOp(operator, rest)
        case ast.UnaryOp(ast.Not() | ast.USub(), operand):
            yield node, operand
        case ast.BinOp(left, operator, right) if type(operator) in _OPERATORS:
            yield node, ast.BinOp(left, _OPERATORS[type(operator)](), right)
        case ast.Constant(bool() as value):
            yield node, ast.Constant(not value)
        case ast.Constant(int() as value):
            yield node, ast.Constant(value + 1)
        case ast.IfExp(body=body, orelse=orelse):
            yield node, body
            yield node, orelse
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
            for generator in node.generators:
                for condition in generator.ifs:
                    yield condition, ast.Constant(True)
        case ast.Call(ast.Name(function), arguments, keywords) if function in _FUNCTIONS:
            yield node, ast.Call(ast.Name(_FUNCTIONS[function], ast.Load()), arguments, keywords)
