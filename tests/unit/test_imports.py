"""The table of folders in ``imports.toml`` is what the imports do: no other arrow, and no circle."""

import ast
import functools
import tomllib
from pathlib import Path

import rewriter

ROOT = Path(rewriter.__file__).parent
TABLE = Path(__file__).with_name("imports.toml")
ARCHITECTURE = ROOT.parent / "ARCHITECTURE.md"
ENGINE_LIBRARIES = ("pyspark", "duckdb", "py4j")
MODULES = sorted(ROOT.rglob("*.py"))
#: Modules of the root that every other module may import.
COMMON = {
    "cancellation.py",
    "data_formats.py",
    "directory_changes.py",
    "errors.py",
    "gc_pause.py",
    "lazy_dataclass.py",
    "scratch_directories.py",
    "terminal_text.py",
    "uris.py",
}
MOST_LINES = 800
MOST_FILES = 680
#: Sixteen, `certificate` and `convert`.
MOST_FOLDERS = 18
MOST_ROOT_MODULES = 13
MOST_LINES_OF_ARCHITECTURE = 90


def folder(path: Path) -> str:
    """Returns the folder of a module below ``rewriter``. A module of the root is its own."""
    relative = path.relative_to(ROOT)
    return relative.name if len(relative.parts) == 1 else str(relative.parent)


@functools.cache
def imported(path: Path) -> list[tuple[str, bool]]:
    """Returns all imported modules, at any position, and whether the import runs when the module is loaded."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    deferred = {id(inner) for node in ast.walk(tree) if _is_deferred(node) for inner in ast.walk(node)}
    names: list[tuple[str, bool]] = []
    for node in ast.walk(tree):
        at_once = id(node) not in deferred
        if isinstance(node, ast.Import):
            names += [(alias.name, at_once) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            names += [(f"{node.module}.{alias.name}", at_once) for alias in node.names]
    return names


def _is_deferred(node: ast.AST) -> bool:
    if isinstance(node, ast.If):
        return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)


@functools.cache
def module_path(name: str) -> Path | None:
    """Returns the file of an imported name of this project, or ``None`` for names of other packages."""
    parts = name.split(".")
    if parts[0] != "rewriter":
        return None
    for length in range(len(parts), 0, -1):
        path = ROOT.joinpath(*parts[1:length])
        if path.with_suffix(".py").is_file() and length > 1:
            return path.with_suffix(".py")
        if (path / "__init__.py").is_file():
            return path / "__init__.py"
    raise AssertionError(f"{name} is no module")


@functools.cache
def module_graph() -> dict[Path, set[Path]]:
    return {path: {target for name, _ in imported(path) if (target := module_path(name))} - {path} for path in MODULES}


@functools.cache
def folder_graph() -> dict[str, set[str]]:
    graph: dict[str, set[str]] = {folder(path): set() for path in MODULES}
    for path, targets in module_graph().items():
        graph[folder(path)] |= {folder(target) for target in targets}
    return {name: targets - {name} - COMMON for name, targets in graph.items() if name not in COMMON}


def table() -> dict[str, set[str]]:
    """Returns folder → the folders that it may import, from the table."""
    rows = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    return {name: set(row["imports"]) for name, row in rows.items()}


def rest_of_circles(graph: dict[str, set[str]] | dict[Path, set[Path]]) -> set[object]:
    """Returns the nodes that are in a cycle, or import one; nothing if there is none."""
    left: dict[object, set[object]] = {node: set(targets) for node, targets in graph.items()}
    while ready := {node for node, targets in left.items() if not targets & left.keys()}:
        left = {node: targets for node, targets in left.items() if node not in ready}
    return set(left)


def test_the_table_lists_the_imports() -> None:
    rows, graph = table(), folder_graph()
    differences = [
        f"{name}: the table lacks {sorted(graph.get(name, set()) - rows.get(name, set()))}, "
        f"and lists without use {sorted(rows.get(name, set()) - graph.get(name, set()))}"
        for name in sorted(rows.keys() | graph.keys())
        if rows.get(name) != graph.get(name)
    ]
    assert differences == []


def test_there_are_no_circles() -> None:
    assert rest_of_circles(folder_graph()) == set()
    assert rest_of_circles(module_graph()) == set()


def test_a_circle_would_be_found() -> None:
    assert rest_of_circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}) == {"a", "b", "c"}


def test_engine_libraries_are_imported_late_and_by_the_engines() -> None:
    for path in MODULES:
        for name, at_once in imported(path):
            if name.split(".")[0] in ENGINE_LIBRARIES:
                assert folder(path).startswith("exec"), f"{path} imports {name} outside the engines"
                assert not at_once, f"{path} imports {name} as it is loaded"


def test_sqlalchemy_is_used_by_the_catalog_and_the_dialect_alone() -> None:
    users = {folder(path) for path in MODULES for name, _ in imported(path) if name.split(".")[0] == "sqlalchemy"}
    assert {name for name in users if not name.startswith("catalog")} == {"integrations/sqlalchemy"}
    assert users.isdisjoint({"catalog/model", "catalog/keys", "catalog/facts", "catalog/cache"})


def test_the_root_and_the_files_stay_small() -> None:
    assert len([path for path in MODULES if path.parent == ROOT]) <= MOST_ROOT_MODULES
    long = [path for path in MODULES if len(path.read_text(encoding="utf-8").splitlines()) > MOST_LINES]
    assert long == []


def test_there_are_few_files_and_folders() -> None:
    assert len(MODULES) <= MOST_FILES
    assert len({path.relative_to(ROOT).parts[0] for path in MODULES if path.parent != ROOT}) <= MOST_FOLDERS


def test_the_architecture_is_short_and_names_each_folder_of_the_top() -> None:
    text = ARCHITECTURE.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MOST_LINES_OF_ARCHITECTURE
    top = {path.relative_to(ROOT).parts[0] for path in MODULES if path.parent != ROOT}
    assert [name for name in sorted(top) if f"`{name}`" not in text] == []


def test_every_folder_says_what_it_is_for() -> None:
    for path in MODULES:
        if path.name == "__init__.py":
            assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), f"{path} has no docstring"
