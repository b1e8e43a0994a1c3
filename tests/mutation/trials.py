"""Runs the tests of a line against a mutant of it, each mutant in a process of its own, forked after all imports.

A process gives the functions of the module the code of the mutant, so that every name that refers to them has it, and
runs the tests that execute the line until one fails: the tests that killed others of the file first, then the shorter
ones. It ends without a failure when the tests, or the seconds of CPU for it, are used up; such a mutant has survived.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import resource
import shutil
import signal
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import CodeType, FunctionType

import pytest

from tests.mutation.line_records import LineRecord
from tests.mutation.mutants import Mutant
from tests.mutation.subjects import ROOT

#: The seconds that a test may take beyond ten times its usual ones.
_MOST_SECONDS = 10
#: Bytes of memory of a process.
_MEMORY = 12 << 30
_SURVIVED, _KILLED, _NOT_APPLIED = 0, 1, 2


class Outcome(Enum):
    KILLED = "killed"
    SURVIVED = "survived"
    #: No test executes the line: it has survived, too.
    NOT_REACHED = "not reached"
    #: The code does not fit the function: no mutant.
    NOT_APPLIED = "not applied"


@dataclass(frozen=True)
class Trial:
    mutant: Mutant
    outcome: Outcome
    #: The test that failed; empty without one.
    killer: str
    seconds: float


class Trials:
    """A plugin of pytest that collects the tests, and tries mutants in place of running them."""

    def __init__(
        self, mutants: Sequence[Mutant], lines: LineRecord, budget: float, show: Callable[[Trial], None]
    ) -> None:
        self.mutants, self.lines, self.budget, self.show = mutants, lines, budget, show
        self.killers: dict[Path, Counter[str]] = defaultdict(Counter)
        self.has_failed = False
        #: Killers that were seen to pass without a mutant, in such a process.
        self._sound: set[str] = set()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        gc.freeze()
        for mutant in self.mutants:
            self.show(self._trial(mutant, items))
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.has_failed = self.has_failed or report.failed

    def _trial(self, mutant: Mutant, items: dict[str, pytest.Item]) -> Trial:
        killers = self.killers[mutant.path]
        by_line = self.lines.tests.get(str(mutant.path.relative_to(ROOT)), {})
        # A line of constants alone is in no record; the lines above it in its statement are.
        lines = range(mutant.line, mutant.first_line - 1, -1)
        tests: list[str] = next((by_line[line] for line in lines if line in by_line), [])
        ordered = sorted(
            (test for test in tests if test in items), key=lambda test: (-killers[test], self.lines.seconds[test])
        )
        if not ordered:
            return Trial(mutant, Outcome.NOT_REACHED, "", 0)
        began = time.monotonic()
        status, test = _forked(functools.partial(self._run, mutant, [items[test] for test in ordered]))
        seconds = time.monotonic() - began
        if status == _NOT_APPLIED or not test:
            return Trial(mutant, Outcome.NOT_APPLIED, "", seconds)
        if status == _SURVIVED:
            return Trial(mutant, Outcome.SURVIVED, "", seconds)
        if test not in self._sound:
            if _forked(functools.partial(self._run, None, [items[test]]))[0] == _KILLED:
                del items[test]
                return self._trial(mutant, items)
            self._sound.add(test)
        killers[test] += 1
        return Trial(mutant, Outcome.KILLED, test, seconds)

    def _run(self, mutant: Mutant | None, items: Sequence[pytest.Item], report: Callable[[str], object]) -> int:
        """Runs the tests in the process of the mutant. A test that takes too long ends the process."""
        if mutant is not None and not _is_applied(mutant):
            return _NOT_APPLIED
        items[0].config.pluginmanager.unregister(name="terminalreporter")
        for item, following in zip(items, [*items[1:], None], strict=True):
            if time.process_time() > self.budget:
                break
            report(item.nodeid)
            signal.setitimer(signal.ITIMER_REAL, _MOST_SECONDS + 10 * self.lines.seconds[item.nodeid])
            item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
            if self.has_failed:
                return _KILLED
        return _SURVIVED


def _is_applied(mutant: Mutant) -> bool:
    """Gives the functions of the module the code of the mutant, and empties what functions of the package remember.

    Returns false if this changes no function.
    """
    codes = {(code.co_qualname, code.co_firstlineno): code for code in _all_codes(mutant.code())}
    file = str(mutant.path)
    is_changed = False
    gc.unfreeze()
    for value in gc.get_objects():
        if isinstance(value, FunctionType) and value.__code__.co_filename == file:
            code = codes.get((value.__code__.co_qualname, value.__code__.co_firstlineno), value.__code__)
            # Another number of variables of the enclosing function: such a function is made anew by its mutant.
            if code != value.__code__ and code.co_freevars == value.__code__.co_freevars:
                value.__code__ = code
                is_changed = True
        elif isinstance(value, functools._lru_cache_wrapper) and str(value.__module__).startswith("rewriter"):
            value.cache_clear()
    return is_changed


def _all_codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _all_codes(constant)


def _forked(run: Callable[[Callable[[str], object]], int]) -> tuple[int, str]:
    """Runs a function in a forked process, which leads a group of its own and has a folder for all its temporary files.

    Returns what it returned, or ``_KILLED`` if the process ended otherwise, and the text that it reported last.
    """
    folder = Path(tempfile.mkdtemp(prefix="mutant-"))
    reported = folder / "reported"
    process = os.fork()
    if process == 0:
        status = _KILLED
        try:
            os.setsid()
            os.environ["TMPDIR"] = tempfile.tempdir = str(folder)
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
            nothing = os.open(os.devnull, os.O_RDWR)
            for descriptor in (0, 1, 2):
                os.dup2(nothing, descriptor)
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            status = run(reported.write_text)
        finally:
            os._exit(status)
    _, result = os.waitpid(process, 0)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process, signal.SIGKILL)
    text = reported.read_text(encoding="utf-8") if reported.exists() else ""
    shutil.rmtree(folder, ignore_errors=True)
    return os.WEXITSTATUS(result) if os.WIFEXITED(result) else _KILLED, text
