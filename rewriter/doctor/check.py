"""The result of one check, and results as text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Literal

from rewriter.errors import Error, foreign
from rewriter.terminal_text import printable

Status = Literal["ok", "warning", "error", "skipped"]


@dataclass(frozen=True)
class Check:
    """One check: its name, its result, what was found, and for a problem what to do."""

    name: str
    status: Status
    detail: str
    advice: str = ""


def ok(name: str, detail: str) -> Check:
    return Check(name, "ok", detail)


def warning(name: str, detail: str, advice: str) -> Check:
    return Check(name, "warning", detail, advice)


def error(name: str, detail: str, advice: str) -> Check:
    return Check(name, "error", detail, advice)


def skipped(name: str, detail: str) -> Check:
    return Check(name, "skipped", detail)


def failed(name: str, problem: Error) -> Check:
    """Returns the check that an error of ours answers."""
    return error(name, problem.message, problem.hint or "")


def guarded(name: str, check: Callable[[], Iterable[Check]]) -> Iterator[Check]:
    """Yields the results of a check, and an error for any failure of it: the other checks go on."""
    try:
        yield from check()
    except Error as problem:
        yield failed(name, problem)
    except Exception as problem:
        yield failed(name, foreign(problem))


def is_healthy(checks: Iterable[Check]) -> bool:
    """Tests whether no check found an error."""
    return all(check.status != "error" for check in checks)


def lines(checks: Iterable[Check]) -> Iterator[str]:
    """Yields a line for each check, and its advice on the line below.

    >>> print(*lines([ok("Java", "17"), error("Clock", "It is 1970.", "Set the clock.")]), sep="\\n")
    [ok]      Java: 17
    [error]   Clock: It is 1970.
              Set the clock.
    """
    for check in checks:
        yield _line(f"{f'[{check.status}]':<10}{check.name}: {check.detail}")
        if check.advice:
            yield _line(f"{'':<10}{check.advice}")


def _line(text: str) -> str:
    return printable(text.replace("\n", " "))


def as_objects(checks: Iterable[Check]) -> list[dict[str, str]]:
    """Returns the checks as JSON's objects."""
    return [asdict(check) for check in checks]
