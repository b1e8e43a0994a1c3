"""docs/reference/api.md has every public name, and each of them has a description."""

from __future__ import annotations

import ast
import dataclasses
import enum
import inspect
import itertools
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from page_runner import blocks

import rewriter
from rewriter import dbapi, errors
from rewriter.catalog import CachedCatalog
from rewriter.dbapi import Connection, Cursor, type_objects
from rewriter.integrations import sqlalchemy
from rewriter.planner.model.plan import Coverage, Plan, ReferencePlan
from rewriter.runtime.result import Result
from rewriter.session import Session

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "api.md"
_TEXT = PAGE.read_text(encoding="utf-8")
_ENTRY = re.compile(r"^::: (\S+)\n((?:    .*\n)*)", re.MULTILINE)
#: The entries of the page: the path of an object, and its members; ``None`` where all public ones are meant.
ENTRIES: dict[str, list[str] | None] = {
    path: next((re.findall(r"\w+", members) for members in re.findall(r"members: \[(.*)\]", options)), None)
    for path, options in _ENTRY.findall(_TEXT)
}
#: Classes whose members return further public classes.
RETURNING = (Connection, Cursor, Session, Result, Plan, Coverage, ReferencePlan, CachedCatalog)
#: Classes of values that are not described, because a program reads their text, or their rows.
_NOT_DESCRIBED = {"SparkDataFrame", "BatchStream", "Calendar", "Period", "RangeSet", "UpdatePeriod"}
#: Modules that need packages which need not be installed.
_OPTIONAL = {"rewriter.integrations.notebook.RewriterMagics": "IPython"}


def _object(path: str) -> Any:
    parts = path.split(".")
    for count in range(len(parts), 0, -1):
        try:
            found: Any = import_module(".".join(parts[:count]))
        except ModuleNotFoundError:
            continue
        for name in parts[count:]:
            found = getattr(found, name)
        return found
    raise AssertionError(path)


NAMES = {path.rpartition(".")[2] for path in ENTRIES}


def test_every_name_of_the_public_modules_is_on_the_page() -> None:
    public = {*rewriter.__all__, *dbapi.__all__, *sqlalchemy.__all__}
    public |= {name for name, value in vars(errors).items() if inspect.isclass(value) and issubclass(value, Exception)}
    assert public - NAMES == set()


def test_every_class_that_a_public_member_returns_is_on_the_page() -> None:
    returned: set[str] = set()
    for path, members in ENTRIES.items():
        found = None if path in _OPTIONAL else _object(path)
        if inspect.isclass(found) and found in RETURNING:
            returned |= {name for member in members or () for name in _returned(found, member)}
    assert returned >= {"Cursor", "Coverage", "Plan", "Stats", "StreamWriter", "CoverPart", "Partition"}
    assert returned - NAMES - _NOT_DESCRIBED == set()


def _returned(owner: type, name: str) -> Iterator[str]:
    """Yields the names of the classes of this package in the type of a member, or of what it returns."""
    member = inspect.getattr_static(owner, name, None)
    function = member.fget if isinstance(member, property) else getattr(member, "func", member)
    types = getattr(function, "__annotations__", {}).get("return") or getattr(owner, "__annotations__", {}).get(name)
    modules = vars(import_module(owner.__module__)) | vars(import_module("rewriter.planner.model.plan"))
    for word in re.findall(r"(?<!\.)\b[A-Z]\w+\b(?!\.)", str(types)):
        if word not in modules or str(getattr(modules[word], "__module__", "")).startswith("rewriter"):
            yield from () if word in ("None", "Row", "Any", "ColumnDescription") else (word,)


def test_nothing_internal_is_on_the_page() -> None:
    names = [*NAMES, *(name for members in ENTRIES.values() for name in members or ())]
    assert [name for name in names if name.startswith("_")] == ["__version__"]


def test_every_section_has_an_introduction() -> None:
    for section in re.split(r"^#+ .*\n", _TEXT, flags=re.MULTILINE):
        assert not section.lstrip().startswith(":::"), f"nothing stands before {section.strip()[:60]}"
    assert _TEXT.count("\n::: ") == _TEXT.count("\n\n::: ")


@pytest.mark.share(1)
@pytest.mark.parametrize("path", ENTRIES)
def test_every_public_name_has_a_description(path: str) -> None:
    if path in _OPTIONAL:
        pytest.importorskip(_OPTIONAL[path])
    found = _object(path)
    if not str(getattr(found, "__module__", "")).startswith("rewriter") or isinstance(found, dbapi.DBAPIType):
        assert path == "rewriter.__version__" or _is_described_in_source(path)
        return
    assert inspect.getdoc(found)
    if inspect.isclass(found):
        members = ENTRIES[path]
        if members is None:
            members = [name for name in vars(found) if not name.startswith("_")]
            members = [] if issubclass(found, Exception) else members
        assert [name for name in members if not _is_described(found, name)] == []


def _is_described(owner: type, name: str) -> bool:
    """Returns whether a member has a docstring, or is named in that of its class. Values of an Enum name themselves."""
    member = inspect.getattr_static(owner, name, None)
    if isinstance(member, enum.Enum):
        return True
    if isinstance(member, classmethod | staticmethod):
        member = member.__func__
    if inspect.isroutine(member) or isinstance(member, property) or hasattr(member, "func"):
        return bool(inspect.getdoc(member))
    assert _exists(owner, name), f"{owner.__name__} has no {name}"
    return any(f"``{name}``" in (class_.__doc__ or "") for class_ in owner.__mro__)


def _exists(owner: type, name: str) -> bool:
    fields = dataclasses.fields(owner) if dataclasses.is_dataclass(owner) else ()
    is_assigned = re.search(rf"self\.{name}\b[^=\n]* = ", inspect.getsource(owner)) is not None
    return is_assigned or hasattr(owner, name) or name in {field.name for field in fields}


def _is_described_in_source(path: str) -> bool:
    """Returns whether a text follows the assignment of a module's attribute."""
    module, _, name = path.rpartition(".")
    for source in (import_module(module), dbapi, type_objects):
        body = ast.parse(inspect.getsource(source)).body
        for node, after in itertools.pairwise(body):
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            if any(isinstance(target, ast.Name) and target.id == name for target in targets):
                return isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
    return False


def test_the_tree_of_errors_is_that_of_the_classes() -> None:
    (block,) = [block for block in blocks(PAGE) if block.language == "text"]
    shown = re.sub(r"[│├└─]", " ", block.text).splitlines()
    parents: dict[int, str] = {}
    tree = {}
    for line in shown:
        depth = len(line) - len(line.lstrip())
        parents[depth] = line.strip()
        tree[line.strip()] = parents.get(depth - 4, "Exception")
    classes = [value for value in vars(errors).values() if inspect.isclass(value) and issubclass(value, Exception)]
    assert tree == {class_.__name__: class_.__base__.__name__ for class_ in classes if class_.__base__ is not None}
