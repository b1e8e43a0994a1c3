"""DuckDB's allow-list in one place: what is answered as Spark answers it. Everything else is refused.

``python -m rewriter.exec.allowlist > docs/duckdb.md`` writes the list as a page. Each entry is proven by the
differential tests in ``tests/contract/test_translation.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby

from sqlglot import exp

from rewriter.exec import (
    aggregates,
    conditionals,
    constants,
    numbers,
    operators,
    patterns,
    strings,
    time_functions,
    windows,
)
from rewriter.exec.casts import cast_entries
from rewriter.exec.entries import CONSTRUCTS, Entry
from rewriter.exec.expressions import Allowed

#: Translations by the called function's name or by sqlglot's class.
ALLOWED: Mapping[type[exp.Expr] | str, Allowed] = {
    **constants.NODES,
    **constants.FUNCTIONS,
    **operators.NODES,
    **aggregates.NODES,
    **aggregates.FUNCTIONS,
    **windows.NODES,
    **windows.FUNCTIONS,
    **conditionals.NODES,
    **conditionals.FUNCTIONS,
    **numbers.FUNCTIONS,
    **strings.NODES,
    **strings.FUNCTIONS,
    **time_functions.NODES,
    **time_functions.FUNCTIONS,
}


def entries() -> tuple[Entry, ...]:
    """All lines of the list, section by section, each once."""
    listed = [allowed.entry for allowed in ALLOWED.values() if allowed.entry is not None]
    ordered = dict.fromkeys([*CONSTRUCTS.values(), *listed, *cast_entries()])
    sections = list(dict.fromkeys(entry.section for entry in ordered))
    return tuple(sorted(ordered, key=lambda entry: sections.index(entry.section)))


_HEAD = """\
# DuckDB: what it answers

Queries are Spark SQL on both engines. On DuckDB the text is translated, and only what stands here is: each line is
evaluated on both engines over edge values, and values, types, column names and errors are compared
(`tests/contract/test_translation.py`). The rest is refused with `DUCKDB_UNSUPPORTED`, its name, its place, and the way
out: the Spark engine. This page is generated: `python -m rewriter.exec.allowlist > docs/duckdb.md`.

Always so:

- Arithmetic, SUM and casts that overflow are errors, as in Spark's ANSI mode; so are division by zero and texts that
  are no value of their type.
- NULLs come first in ascending and last in descending order, unless NULLS FIRST or NULLS LAST says otherwise. NaN is
  the greatest number and equals itself; 0.0 equals -0.0.
- Sums, averages and deviations of DOUBLE may differ in their last digits: they depend on the order of the rows, on each
  engine.
- A column without an alias is called as in Spark where that name is known to us; otherwise `_c0`, `_c1` … by its
  position.
- Dates and timestamps lie in the years 1 to 9999 wherever they become text.
- A value that only Spark reads (a text in an odd form, letters beyond the common alphabets in UPPER) is refused when it
  is met, with the value.
"""


def document() -> str:
    """The page, in Markdown."""
    lines = [_HEAD]
    for section, found in groupby(entries(), key=lambda entry: entry.section):
        lines += [f"## {section}", "", "| accepted | refused |", "| --- | --- |"]
        lines += [f"| `{_cell(entry.form)}` | {_cell(entry.refused)} |" for entry in found]
        lines.append("")
    lines += ["## Patterns", "", *patterns.DESCRIPTION, ""]
    return "\n".join(lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    print(document(), end="")
