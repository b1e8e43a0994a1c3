"""The difference between a case and its outcome, as a person reads it."""

from __future__ import annotations

import difflib
import re
from pathlib import Path

from rewriter.golden.runner import FileRun, Outcome

#: The place of a hunk: line and number of lines of both sides.
_HUNK = re.compile(r"^@@ -(\d+)((?:,\d+)?) \+(\d+)((?:,\d+)?) @@$")


def differences(path: Path, outcome: Outcome) -> str:
    """Returns a failed case: the file and line of its command, its input, and a unified diff with the file's lines."""
    case = outcome.case
    diff = list(
        difflib.unified_diff(
            case.expected.split("\n") if case.expected else [],
            outcome.actual.split("\n") if outcome.actual else [],
            "expected",
            "actual",
            lineterm="",
            n=2,
        )
    )
    diff[2:] = (_HUNK.sub(lambda hunk: _shifted(hunk, case.output_start - 1), line) for line in diff[2:])
    reason = ""
    if outcome.failed:
        reason = "\n(an error was expected)" if case.command == "error" else "\n(an error is not accepted here)"
    return f"{path}:{case.start}: {case.command}\n{case.text}\n" + "\n".join(diff) + reason


def report(run: FileRun, *, rewrite: bool) -> str:
    """Returns the differences of all cases that are at fault, '' if there are none."""
    return "\n\n".join(differences(run.path, outcome) for outcome in run.faults(rewrite=rewrite))


def _shifted(hunk: re.Match[str], lines: int) -> str:
    return f"@@ -{int(hunk[1]) + lines}{hunk[2]} +{int(hunk[3]) + lines}{hunk[4]} @@"
