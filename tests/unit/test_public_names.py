"""A public name is one that another module uses; all others begin with an underscore."""

from __future__ import annotations

import ast
import functools
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import rewriter

ROOT = Path(rewriter.__file__).parent
PROJECT = ROOT.parent
FOLDERS = ("rewriter", "rewriter_pytest", "tests", "benchmarks")
#: The names by which registries find what a module has: rules and builders of statements, writers and readers.
REGISTERED = {"RULES", "CHANGES", "TEXTS", "WRITER", "READER", "HANDLERS", "data_source"}
#: Decorators that do not make a function known elsewhere.
PLAIN_DECORATORS = {"contextmanager", "cache", "functools.cache", "lru_cache", "functools.lru_cache"}
#: Names that more than one module defines, such as ``FUNCTIONS`` of the families of the translator.
MOST_SHARED_NAMES = 80


@functools.cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@functools.cache
def nodes(path: Path) -> list[ast.AST]:
    return list(ast.walk(tree(path)))


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(PROJECT).with_suffix("").parts).removesuffix(".__init__")


MODULES = {module_name(path): path for path in sorted(ROOT.rglob("*.py"))}


def sources() -> Iterator[Path]:
    return (path for folder in FOLDERS for path in (PROJECT / folder).rglob("*.py"))


def public_names(path: Path) -> Iterator[str]:
    """Yields the public functions and constants of a module, but for those that a decorator or a name registers."""
    for node in tree(path).body:
        if isinstance(node, ast.FunctionDef):
            decorators = {ast.unparse(decorator).split("(")[0] for decorator in node.decorator_list}
            names = [node.name] if decorators <= PLAIN_DECORATORS else []
        elif isinstance(node, ast.Assign):
            names = [target.id for target in node.targets if isinstance(target, ast.Name) and target.id.isupper()]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id.isupper():
            names = [node.target.id]
        else:
            continue
        yield from (name for name in names if not name.startswith("_") and name not in REGISTERED)


@functools.cache
def uses() -> dict[str, set[str]]:
    """Returns the names of each module that other modules, tests and benchmarks use."""
    used: dict[str, set[str]] = defaultdict(set)
    for path in sources():
        aliases: dict[str, str] = {}
        for node in nodes(path):
            if isinstance(node, ast.ImportFrom) and node.module is not None:
                for alias in node.names:
                    if (inner := f"{node.module}.{alias.name}") in MODULES:
                        aliases[alias.asname or alias.name] = inner
                    elif node.module != module_name(path):
                        used[node.module].add(alias.name)
        for node in nodes(path):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name | ast.Attribute):
                owner = ast.unparse(node.value)
                used[aliases.get(owner, owner)].add(node.attr)
    return used


@functools.cache
def looked_up() -> frozenset[str]:
    """Returns the last parts of the texts in the code, and of the names on the pages: some names are looked up."""
    texts = {
        node.value.rpartition(".")[2].rpartition(":")[2]
        for path in sources()
        for node in nodes(path)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 200
    }
    pages = [*(PROJECT / "docs").rglob("*.md"), PROJECT / "pyproject.toml"]
    words = (word for page in pages for word in page.read_text(encoding="utf-8").split() if "rewriter." in word)
    return frozenset(texts | {word.strip("`'\",()[]").rpartition(".")[2].rpartition(":")[2] for word in words})


def test_public_names_are_used_by_another_module() -> None:
    unused = {
        f"{name}.{public}"
        for name, path in MODULES.items()
        if not name.startswith("rewriter.grammar.families.")
        for public in public_names(path)
        if public not in uses()[name] and public not in looked_up()
    }
    assert sorted(unused) == []


def test_few_names_are_defined_in_more_than_one_module() -> None:
    counts = Counter(name for path in MODULES.values() for name in set(public_names(path)))
    shared = sorted(name for name, count in counts.items() if count > 1)
    assert len(shared) <= MOST_SHARED_NAMES, shared
