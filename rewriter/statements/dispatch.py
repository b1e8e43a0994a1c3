"""Finds the function that runs a statement, among the functions that the modules of the families register."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

from rewriter import statements
from rewriter.runtime.statement_runners import RUNNERS, Runner

if TYPE_CHECKING:
    from rewriter.grammar.statements import Statement


def runner_of(kind: type[Statement]) -> Runner | None:
    """Returns the runner of a kind of statement; ``None`` for the kinds that the session runs itself.

    A module whose source registers a runner of that name is imported alone: a process that runs SHOW TABLES loads
    neither the planner nor its parser. All modules are imported where no source tells.
    """
    if kind not in RUNNERS:
        registers = re.compile(rf"^@runs\((?:\w+\.)?{kind.__name__}\b", re.MULTILINE)
        for name in _modules():
            if registers.search(_source(name)):
                importlib.import_module(name)
    return RUNNERS.get(kind) or runners().get(kind)


@cache
def runners() -> Mapping[type[Statement], Runner]:
    """Returns the runners of all kinds of statements. The first call imports every module of the families."""
    for name in _modules():
        importlib.import_module(name)
    return RUNNERS


def _modules() -> Iterator[str]:
    return (module.name for module in pkgutil.walk_packages(statements.__path__, f"{statements.__name__}."))


def _source(name: str) -> str:
    spec = find_spec(name)
    read = getattr(spec.loader, "get_source", None) if spec is not None else None
    return (read(name) if read is not None else None) or ""
