"""DuckDB's allow-list in one place: the constructs whose results are Spark's. All others are refused.

``python -m rewriter.exec.translate.allowlist > docs/reference/duckdb.md`` writes the list as a page. Each entry is
proven by the differential tests in ``tests/contract/test_translation.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import TYPE_CHECKING

from sqlglot import exp

from rewriter.exec.translate import (
    aggregates,
    arithmetic,
    arrays,
    conditionals,
    extraction,
    generators,
    hash_functions,
    interval_values,
    json_functions,
    lambdas,
    like_conditions,
    literals,
    math_functions,
    nested_constructors,
    operators,
    patterns,
    raised_errors,
    random_values,
    string_functions,
    theta_functions,
    time_functions,
    windows,
)
from rewriter.exec.translate.allowlist_entries import CONSTRUCTS, Entry
from rewriter.exec.translate.casts import cast_entries

if TYPE_CHECKING:
    from rewriter.exec.translate.expressions import Allowed

#: Translations by the called function's name or by sqlglot's class.
ALLOWED: Mapping[type[exp.Expr] | str, Allowed] = {
    **literals.NODES,
    **literals.FUNCTIONS,
    **operators.NODES,
    **aggregates.NODES,
    **aggregates.FUNCTIONS,
    **nested_constructors.NODES,
    **nested_constructors.FUNCTIONS,
    **extraction.NODES,
    **extraction.FUNCTIONS,
    **generators.FUNCTIONS,
    **arrays.FUNCTIONS,
    **arrays.SEQUENCE_FUNCTIONS,
    **lambdas.NODES,
    **lambdas.FUNCTIONS,
    **windows.NODES,
    **windows.FUNCTIONS,
    **conditionals.NODES,
    **conditionals.FUNCTIONS,
    **raised_errors.FUNCTIONS,
    **math_functions.FUNCTIONS,
    **hash_functions.FUNCTIONS,
    **random_values.NODES,
    **random_values.FUNCTIONS,
    **theta_functions.FUNCTIONS,
    **math_functions.ROUNDING_FUNCTIONS,
    **arithmetic.TRY_ARITHMETIC_FUNCTIONS,
    **arithmetic.NODES,
    **arithmetic.FUNCTIONS,
    **math_functions.TRANSCENDENTAL_FUNCTIONS,
    **string_functions.NODES,
    **string_functions.FUNCTIONS,
    **string_functions.STRING_SEARCH_FUNCTIONS,
    **string_functions.TEXT_FORMAT_FUNCTIONS,
    **json_functions.FUNCTIONS,
    **hash_functions.TEXT_FUNCTIONS,
    **string_functions.REGULAR_EXPRESSION_NODES,
    **string_functions.REGULAR_EXPRESSION_FUNCTIONS,
    **like_conditions.NODES,
    **interval_values.FUNCTIONS,
    **time_functions.NODES,
    **time_functions.FUNCTIONS,
    **time_functions.TIME_DIFFERENCE_FUNCTIONS,
    **time_functions.TIME_ZONE_FUNCTIONS,
}


def entries() -> tuple[Entry, ...]:
    """Returns all lines of the list, section by section, each once."""
    allowed_entries = [allowed.entry for allowed in ALLOWED.values() if allowed.entry is not None]
    distinct_entries = dict.fromkeys([*CONSTRUCTS.values(), *allowed_entries, *cast_entries()])
    sections = list(dict.fromkeys(entry.section for entry in distinct_entries))
    return tuple(sorted(distinct_entries, key=lambda entry: sections.index(entry.section)))


def function_spellings() -> frozenset[str]:
    """Returns the names, in lower case, by which the functions of the list can be called."""
    classes = (key for key in ALLOWED if not isinstance(key, str) and issubclass(key, exp.Func))
    names = {name.lower() for class_ in classes for name in class_.sql_names()}
    return frozenset(names | {key.lower() for key in ALLOWED if isinstance(key, str)})


_HEAD = """\
# Supported SQL on DuckDB

Queries are Spark SQL on both engines. For DuckDB the text is translated, and only the constructs on this page are
supported. Tests evaluate each line on both engines over edge values, and compare values, types, column names and errors
(`tests/contract/test_translation.py`). Any other construct is refused: the error `DUCKDB_UNSUPPORTED` names it and its
position, and the hint is to use the Spark engine. [Functions](functions.md) lists the functions of both engines by
family. This page is generated: `python -m rewriter.exec.translate.allowlist > docs/reference/duckdb.md`.

In all queries:

- Overflow in arithmetic, SUM and casts is an error, as in Spark's ANSI mode. So are division by zero and text that is
  not a value of its type.
- NULLs are first in ascending and last in descending order, unless NULLS FIRST or NULLS LAST is specified. NaN is the
  greatest number and equals itself. 0.0 equals -0.0, and a group of both returns 0.0.
- Sums, averages and deviations of DOUBLE may differ in their last digits: on each engine they depend on the order of
  the rows. EXP, LN, LOG, LOG10, LOG2, CBRT and POWER may differ in their last digit.
- FIRST, LAST and ANY_VALUE return any value of the group, as in Spark: the rows of a group have no order, also if a
  subquery sorts them. So do MAX_BY and MIN_BY among the rows of an equal key, and windows among equal rows. The engines
  may choose different ones. MODE(x) returns any of several values that are as frequent.
- PERCENTILE_APPROX, APPROX_PERCENTILE and APPROX_COUNT_DISTINCT are exact, where Spark approximates. A percentile
  between equal zeros is 0.0 or -0.0.
- `x IN (SELECT …)` below OR, CASE and in a select list is FALSE where SQL has NULL, as in Spark: where `x` is NULL, or
  nothing equals it and the subquery returns a NULL.
- A column without an alias has the name that Spark gives it, where `rewriter` can derive that name. Otherwise it is
  `_c0`, `_c1` … by its position.
- Dates and timestamps must be in the years 1 to 9999 wherever they become text.
- A value that only Spark can read (text in an unusual form, letters beyond the common alphabets in UPPER) is refused
  when a query reads it. The error has the value.
- A query with more than 200 joins, or a set operation of more than 5,000 queries, is refused: DuckDB would take
  minutes.
"""


def document() -> str:
    """Returns the page, in Markdown."""
    lines = [_HEAD]
    for section, section_entries in groupby(entries(), key=lambda entry: entry.section):
        lines += [f"## {section}", "", "| accepted | refused |", "| --- | --- |"]
        lines += [f"| `{_cell(entry.form)}` | {_cell(entry.refused)} |" for entry in section_entries]
        lines.append("")
    lines += ["## Patterns", "", *patterns.DESCRIPTION, ""]
    lines += [
        "## Time zones",
        "",
        "UTC, GMT, Z, offsets `±HH:MM`, and:",
        f"{', '.join(sorted(time_functions.ZONES))}.",
        "",
    ]
    return "\n".join(lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    print(document(), end="")
