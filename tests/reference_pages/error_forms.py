"""The forms of all errors that the source of ``rewriter`` raises: condition, class, SQLSTATE, message and hint.

A function that makes an error of what its callers say, as ``_invalid(message, hint)``, is followed to its callers: the
texts of its parameters are placeholders, which each call fills.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import product

from rewriter import errors
from rewriter.exec.duckdb import own_errors
from rewriter.statements.query import engine_errors
from tests.reference_pages.expression_texts import (
    COMPUTED,
    Function,
    Locals,
    Module,
    Names,
    arguments,
    filled,
    is_computed,
    modules,
    texts,
)

_NAME = r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+"
_CONDITION = re.compile(rf"(?:{_NAME}|UNSUPPORTED)(?:\.[A-Z0-9_‹…›]+)?")
#: An error in a text of SQL, or in a Python worker of Spark: its condition is at the begin.
_EMBEDDED_KINDS = {"DUCKDB_UNSUPPORTED": errors.NotSupportedError, "FAILED_READ_FILE": errors.EngineError}
_EMBEDDED = re.compile(rf"\[({_NAME})\] ([^\n]*)")


@dataclass(frozen=True, order=True)
class Form:
    """One form of an error. ``kind`` is the name of its Python class, ``""`` where the source does not say it."""

    condition: str
    sqlstate: str
    message: str
    hint: str
    kind: str

    @property
    def main(self) -> str:
        """The condition without its more specific name."""
        return self.condition.partition(".")[0]

    @property
    def sub(self) -> str:
        """The more specific name, or the empty text."""
        return self.condition.partition(".")[2]

    def is_completed(self) -> bool:
        """Tests whether callers complete the form, because it has a parameter alone as a condition, message or hint."""
        return any("\0" in text and is_computed(text) for text in (self.condition, self.message, self.hint))

    def with_arguments(self, given: Names) -> Iterator[Form]:
        """Yields the form with the texts of arguments in place of placeholders. The n-th condition has the n-th
        SQLSTATE, if there are as many.
        """
        conditions, states = filled(self.condition, given), filled(self.sqlstate, given)
        for named in _pairs(conditions, states):
            for said in _pairs(filled(self.message, given), filled(self.hint, given)):
                yield Form(*named, *said, self.kind)


def _pairs(first: tuple[str, ...], second: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yields the texts that belong together: the n-th ones of both, if there are as many, otherwise each with each."""
    if len(first) == len(second):
        return zip(first, second, strict=True)
    return product(first, second)


@cache
def forms() -> tuple[Form, ...]:
    """Returns all forms that the source states, each once, by condition."""
    found: set[Form] = set()
    summaries = _Summaries()
    for module in modules().values():
        found |= set(_embedded(module))
        for function in _functions(module):
            found |= {one for form in summaries.of(function, module) for one in form.with_arguments({})}
    found = {replace(form, message=_one_line(form.message), hint=_one_line(form.hint)) for form in found}
    stated = {form for form in found if _CONDITION.fullmatch(form.condition) and _says_something(form.message)}
    hinted = {(form.condition, form.message) for form in stated if not is_computed(form.hint)}
    useful = (f for f in stated if not is_computed(f.hint) or (f.condition, f.message) not in hinted)
    return tuple(sorted({_with_engine_hint(form) for form in useful}))


def _one_line(text: str) -> str:
    return re.sub(f"({COMPUTED})+", COMPUTED, " ".join(text.split()))


def _says_something(message: str) -> bool:
    """Tests whether a message has words of its own, and a reason where it announces one."""
    return not is_computed(message) and not message.endswith(": .")


def _functions(module: Module) -> Iterator[Function]:
    return (node for node in module.nodes if isinstance(node, Function))


def _with_engine_hint(form: Form) -> Form:
    """Returns a form with the hint that an engine's error of this condition gets (``engine_errors``)."""
    if form.hint or form.kind not in ("EngineError", "DataError"):
        return form
    hints = engine_errors._HINTS.items()
    return replace(form, hint=next((hint for prefix, hint in hints if form.condition.startswith(prefix)), ""))


class _Summaries:
    """The forms of each function, computed once. A function that calls itself adds nothing in the inner call."""

    def __init__(self) -> None:
        self._known: dict[Function, frozenset[Form]] = {}
        self._owners: dict[str, list[Module]] = {}
        for module in modules().values():
            for name in module.functions:
                self._owners.setdefault(name, []).append(module)

    def of(self, function: Function, module: Module) -> frozenset[Form]:
        """Returns the forms that a function makes, with placeholders for what its callers say."""
        if function not in self._known:
            self._known[function] = frozenset()
            self._known[function] = frozenset(self._made(function, module))
        return self._known[function]

    def _made(self, function: Function, module: Module) -> Iterator[Form]:
        calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
        makers = [(call, found) for call in calls if (found := self._maker(call, module)) and found[0] is not function]
        completed = [(call, made[0], list(self._incomplete(*made))) for call, made in makers]
        errors_made = [call for call in calls if _error_class(call) is not None]
        if not errors_made and not any(incomplete for _, _, incomplete in completed):
            return
        known = Locals.of(function, module)
        for call in errors_made:
            for names in known.environments(call.lineno):
                yield from _constructed(call, module, names)
        for call, callee, incomplete in completed:
            for names in known.environments(call.lineno) if incomplete else ():
                given = arguments(callee, call, module, names)
                for form in incomplete:
                    yield from form.with_arguments(given)

    def _incomplete(self, function: Function, module: Module) -> Iterator[Form]:
        return (form for form in self.of(function, module) if form.is_completed())

    def _maker(self, call: ast.Call, module: Module) -> tuple[Function, Module] | None:
        """Returns the function of the source that is called, with its module: by its name, if this is clear."""
        name = _name(call)
        if isinstance(call.func, ast.Name) and name in module.imports:
            origin, original = module.imports[name]
            other = modules().get(origin)
            return (other.functions[original], other) if other and original in other.functions else None
        if name in module.functions:
            return module.functions[name], module
        owners = self._owners.get(name, []) if isinstance(call.func, ast.Attribute) else []
        return (owners[0].functions[name], owners[0]) if len(owners) == 1 else None


def _error_class(call: ast.Call) -> type[errors.Error] | None:
    kind = getattr(errors, _name(call), None)
    is_error = isinstance(kind, type) and issubclass(kind, errors.Error) and bool(call.args)
    return kind if is_error else None


def _constructed(call: ast.Call, module: Module, names: Names) -> Iterator[Form]:
    """Yields the forms of an error that a call constructs."""
    kind = _error_class(call)
    assert kind is not None
    keywords = {keyword.arg: keyword.value for keyword in call.keywords}
    conditions = texts(keywords["condition"], module, names) if "condition" in keywords else (kind.condition,)
    states = texts(keywords["sqlstate"], module, names) if "sqlstate" in keywords else ("",)
    if "sqlstate" not in keywords and "condition" not in keywords:
        states = (kind.sqlstate or "",)
    messages, hints = texts(call.args[0], module, names), texts(keywords.get("hint"), module, names)
    for named in _pairs(conditions, states):
        for said in _pairs(messages, hints):
            yield Form(*named, *said, kind.__name__)


def _name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _embedded(module: Module) -> Iterator[Form]:
    """Yields the errors that a query raises while it runs, whose condition is in their text."""
    parts: set[ast.AST] = set()
    for node in module.nodes:
        if node in parts or not isinstance(node, ast.Constant | ast.JoinedStr | ast.BinOp):
            continue
        parts |= set(ast.walk(node))
        for text in texts(node, module, {}):
            for condition, message in _EMBEDDED.findall(text):
                state = own_errors._SQLSTATES.get(condition, "")
                kind = _EMBEDDED_KINDS.get(condition, errors.DataError)
                yield Form(condition, state, _sql_message(message), "", kind.__name__)


def _sql_message(text: str) -> str:
    """Returns the message of ``error('…' || x || '…')``, or of a text without quotes."""
    quote = "\1"
    text = re.sub(r"' \|\| .*? \|\| '", COMPUTED, text.replace("''", quote))
    return re.sub(r"' \|\| .*$", COMPUTED, text).partition("'")[0].strip().replace(quote, "'")
