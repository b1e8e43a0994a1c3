"""The layout is the architecture: an import points to a lower floor or stays in its own package."""

import ast
from pathlib import Path

import pytest

import rewriter

ROOT = Path(rewriter.__file__).parent

#: Packages and the modules at the top of ``rewriter``, by floor.
FLOORS = {
    0: ("errors", "collector"),
    1: ("timeline",),
    2: ("grammar",),
    3: ("catalog",),
    4: ("planner",),
    5: ("exec",),
    6: (
        "session",
        # The session's helpers: its surroundings, then one module for each kind of statement.
        "settings",
        "parameters",
        "result",
        "context",
        "progress",
        "specs",
        "files",
        "directories",
        "discovering",
        "repairing",
        "ddl",
        "databases",
        "renaming",
        "showcreate",
        "creating",
        "altering",
        "temporaries",
        "transactions",
        "heartbeats",
        "explaining",
        "properties",
        "views",
        "cubes",
        "fact_tables",
        "facts",
        "showing",
        "typetrees",
        "known",
        "lookups",
        "metadata",
        "describing",
        "table_listings",
        "analyzing",
        "caching",
        "coverage",
        "comparing",
        "checking",
        "refreshing",
        "managed",
        "narrowing",
        "reading",
        "moving",
        "storing",
        "targets",
        "writing",
        "multi_inserting",
        "loading",
        "compacting",
        "vacuuming",
    ),
    7: ("__init__", "__main__", "cli", "catalog_commands", "dbapi", "demo", "golden", "shell"),
}
FLOOR_OF = {name: floor for floor, names in FLOORS.items() for name in names}
ENGINE_LIBRARIES = ("pyspark", "duckdb", "py4j")
MODULES = sorted(ROOT.rglob("*.py"))


def room(path: Path) -> str:
    """The package or top module that a file belongs to."""
    first = path.relative_to(ROOT).parts[0]
    return first.removesuffix(".py")


def imports(path: Path) -> list[tuple[str, bool]]:
    """All imported modules, wherever the import stands, and whether it is executed with the module."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    deferred = {id(inner) for node in ast.walk(tree) if _is_deferred(node) for inner in ast.walk(node)}
    found: list[tuple[str, bool]] = []
    for node in ast.walk(tree):
        at_once = id(node) not in deferred
        if isinstance(node, ast.Import):
            found += [(alias.name, at_once) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            package = path.relative_to(ROOT.parent).with_suffix("").parts[: -node.level] if node.level else ()
            base = ".".join([*package, *([node.module] if node.module else [])])
            found.append((base, at_once))
            found += [(f"{base}.{alias.name}", at_once) for alias in node.names]
    return found


def _is_deferred(node: ast.AST) -> bool:
    if isinstance(node, ast.If):
        return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)


def test_every_module_has_a_floor() -> None:
    assert {room(path) for path in MODULES} == set(FLOOR_OF)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_down(path: Path) -> None:
    own = room(path)
    for name, _ in imports(path):
        parts = name.split(".")
        if parts[0] != "rewriter" or len(parts) < 2:
            continue
        # ``from rewriter import x`` names a module or something in rewriter/__init__.py.
        target = parts[1] if parts[1] in FLOOR_OF else "__init__"
        if target != own:
            inside_top = FLOOR_OF[own] == FLOOR_OF[target] and FLOOR_OF[own] >= 6
            assert FLOOR_OF[target] < FLOOR_OF[own] or inside_top, f"{own} (floor {FLOOR_OF[own]}) imports {name}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_engine_libraries_are_imported_late_and_high(path: Path) -> None:
    for name, at_once in imports(path):
        if name.split(".")[0] in ENGINE_LIBRARIES:
            assert FLOOR_OF[room(path)] == 5, f"{path} imports {name} outside the engines"
            assert not at_once, f"{path} imports {name} as it is loaded"


def test_modules_on_the_floor_of_the_session_do_not_import_each_other_in_circles() -> None:
    names = set(FLOORS[6])
    graph = {
        name: {part for full, _ in imports(ROOT / f"{name}.py") for part in full.split(".")[1:2] if part in names}
        for name in names
    }
    done: set[str] = set()
    while ready := {name for name in names - done if graph[name] <= done}:
        done |= ready
    assert done == names
