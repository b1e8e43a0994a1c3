"""A name that begins a sentence of a docstring, as in "``limit`` is …", exists: it is a parameter, a field of the
class, or a name of the module. A module that a text names, as in ``catalog.commit.commit``, exists, too.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import rewriter

ROOT = Path(rewriter.__file__).parent
#: The names of result columns begin sentences in these folders, too.
OF_RESULTS = ("statements/show", "statements/stream", "statements/system_tables", "statements/maintain/refresh_fact.py")
VERBS = "is|are|has|have|gets|says|holds|maps|returns|selects|converts|names|limits|makes|waits|lists|refuses|also"
SUBJECT = re.compile(
    rf"(?:^|(?<=[.:])\s+)(?:With |Without |If )?``([a-z_][a-z0-9_]*)``(?:,| and ``[a-z_]+``)* (?:{VERBS})\b"
)
REFERENCE = re.compile(r"``(?:rewriter\.)?([a-z_]+(?:\.[A-Za-z_]+)+)(?:\(\))?``")
#: Files and properties whose names look like those of modules.
OTHERS = ("flights.csv.gz", "metastore.thrift", "partition_commit.policies", "auto_compact.files")
Function = ast.FunctionDef | ast.AsyncFunctionDef


def subjects(node: ast.AST) -> list[str]:
    documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    return SUBJECT.findall((ast.get_docstring(node) or "") if documented else "")


def parameters(function: Function) -> set[str]:
    return {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}


def fields(class_: ast.ClassDef) -> set[str]:
    """Returns the names of a class: fields, methods, attributes of ``self``, and parameters of ``__init__``."""
    names: set[str] = set()
    for node in class_.body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            names |= {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
        elif isinstance(node, Function):
            names.add(node.name)
            names |= parameters(node) if node.name == "__init__" else set()
    attributes = (node for node in ast.walk(class_) if isinstance(node, ast.Attribute))
    return names | {node.attr for node in attributes if isinstance(node.value, ast.Name) and node.value.id == "self"}


def names_of_module(module: ast.Module) -> set[str]:
    imports = [node for node in ast.walk(module) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {alias.asname or alias.name for node in imports for alias in node.names}
    for node in module.body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            names |= {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
        elif isinstance(node, ast.ClassDef | ast.FunctionDef):
            names.add(node.name)
    return names


def absent(node: ast.AST, names: set[str]) -> Iterator[str]:
    """Yields the subjects of docstrings at and below a node that are none of the names, nor of those that it adds."""
    for child in ast.iter_child_nodes(node):
        inner = names
        if isinstance(child, ast.ClassDef):
            inner = names | fields(child)
        elif isinstance(child, Function):
            inner = names | parameters(child)
        yield from (f"{getattr(child, 'name', '')}: {name}" for name in subjects(child) if name not in inner)
        yield from absent(child, inner)


def absent_from(text: str) -> list[str]:
    module = ast.parse(text)
    return list(absent(module, names_of_module(module)))


def test_docstrings_name_what_exists() -> None:
    wrong = []
    for path in sorted(ROOT.rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith(OF_RESULTS):
            wrong += [f"{name}: {subject}" for subject in absent_from(path.read_text(encoding="utf-8"))]
    assert wrong == []


def test_a_parameter_that_does_not_exist_is_found() -> None:
    text = 'def f(limit):\n    """Returns rows. ``limit`` is the most, and ``end`` too. ``after`` is a key."""\n'
    assert absent_from(text) == ["f: after"]


def exists(reference: str) -> bool:
    """Returns whether a dotted reference leads to a module of the package, and to a name in it, if it has one."""
    place, *rest = ROOT, *reference.split(".")
    while rest and (place / rest[0]).is_dir():
        place /= rest.pop(0)
    if not rest:
        return True
    module = place / f"{rest.pop(0)}.py"
    if not module.exists():
        module, rest = place / "__init__.py", [reference.split(".")[-1]]
    return not rest or re.search(rf"\b{rest[0]}\b", module.read_text(encoding="utf-8")) is not None


def test_references_lead_to_modules() -> None:
    top = {path.name.removesuffix(".py") for path in ROOT.iterdir()}
    wrong = []
    for path in sorted(ROOT.rglob("*.py")):
        for reference in REFERENCE.findall(path.read_text(encoding="utf-8")):
            begins_at_top = reference.split(".")[0] in top and reference not in OTHERS
            if begins_at_top and not exists(reference):
                wrong.append(f"{path.relative_to(ROOT)}: {reference}")
    assert wrong == []


def test_a_module_that_does_not_exist_is_found() -> None:
    assert all(map(exists, ("catalog.commit.commit", "catalog.model.objects.Table", "timeline.kinds")))
    assert not any(map(exists, ("runtime.no_module", "catalog.model.objects.no_name")))
