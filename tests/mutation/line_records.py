"""The lines of the core that each test executes, by ``coverage``, and the seconds that each test takes."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import coverage
import pytest

from tests.mutation.subjects import ROOT, SUBJECTS, modules


@dataclass(frozen=True)
class LineRecord:
    """Passed tests with their seconds, and the tests that execute each line: path below the project → line → tests."""

    seconds: dict[str, float]
    tests: dict[str, dict[int, list[str]]]


class Recorder:
    """A plugin of pytest: runs the tests as usual, and writes at the end what ``read`` returns."""

    def __init__(self, path: Path) -> None:
        self.path = path
        files = [str(file) for subject in SUBJECTS for file in modules(subject)]
        self.coverage = coverage.Coverage(data_file=None, config_file=False, include=files)
        self.seconds: dict[str, float] = defaultdict(float)
        self.failed: set[str] = set()

    def pytest_sessionstart(self) -> None:
        self.coverage.start()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.coverage.switch_context(item.nodeid)
        yield
        self.coverage.switch_context("")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] += report.duration
        if report.outcome != "passed":
            self.failed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        self.coverage.stop()
        data = self.coverage.get_data()
        passed = [test for test in self.seconds if test not in self.failed]
        numbers = {test: number for number, test in enumerate(passed)}
        lines = {
            str(Path(file).relative_to(ROOT)): {
                line: sorted(numbers[test] for test in tests if test in numbers)
                for line, tests in data.contexts_by_lineno(file).items()
            }
            for file in data.measured_files()
        }
        tests = [(test, round(self.seconds[test], 3)) for test in passed]
        self.path.write_text(json.dumps({"tests": tests, "lines": lines}), encoding="utf-8")


def read(path: Path) -> LineRecord:
    """Returns the record of a run."""
    record = json.loads(path.read_text(encoding="utf-8"))
    names = [name for name, _ in record["tests"]]
    lines = {
        file: {int(line): [names[number] for number in numbers] for line, numbers in by_line.items()}
        for file, by_line in record["lines"].items()
    }
    return LineRecord(dict(record["tests"]), lines)
