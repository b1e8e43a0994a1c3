"""The lines of DuckDB's allow-list as values: the form as users type it, and the variants of it that are refused."""

from __future__ import annotations

from rewriter.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Entry:
    """One line. ``form`` is the typed form; ``refused`` describes the variants that only Spark runs."""

    section: str
    form: str
    refused: str = ""


def _section(section: str, *lines: tuple[str, str] | str) -> dict[str, Entry]:
    pairs = ((line, "") if isinstance(line, str) else line for line in lines)
    return {form: Entry(section, form, refused) for form, refused in pairs}


#: Constructs that are neither functions nor operators: clauses, joins, frames, literals. By form.
CONSTRUCTS: dict[str, Entry] = {
    **_section(
        "Literals and names",
        "column",
        "NULL",
        "TRUE, FALSE",
        ("'string', \"string\", r'raw'", "two of them side by side after a word such as DATE"),
        "whole number (INT, BIGINT)",
        "1.5, 1.5BD (DECIMAL)",
        "1e3 (DOUBLE)",
        "1L, 1S, 1Y, 1.5D, 1.5F",
        ("DATE '…'", "other forms than 'yyyy-MM-dd'"),
        ("TIMESTAMP '…'", "other forms than 'yyyy-MM-dd[ HH:mm[:ss[.SSSSSS]]][Z|±HH:mm]'"),
        ("TIMESTAMP_NTZ '…'", "as for TIMESTAMP"),
        (":parameter", "values of other types than bool, int, float, str, Decimal, date and datetime"),
    ),
    **_section(
        "Queries",
        "SELECT … FROM …",
        (
            "TABLESAMPLE (n PERCENT | n ROWS | BUCKET n OUT OF m) [REPEATABLE (seed)]",
            "of a subquery or table function; a sample has any rows, on each engine",
        ),
        "SELECT without FROM",
        ("*, t.*", "REPLACE (…)"),
        ("* EXCEPT (a, …), t.* EXCEPT (a, …)", "a column of several relations; a field; all columns"),
        "SELECT DISTINCT",
        "WHERE",
        "GROUP BY",
        ("GROUP BY ALL", "window functions beside it; a column or alias `all`"),
        "GROUP BY ROLLUP, WITH ROLLUP",
        "GROUP BY CUBE, WITH CUBE",
        "GROUP BY GROUPING SETS",
        (
            "HAVING",
            "MEDIAN and similar functions, and BROUND, FLOOR with digits or MONTHS_BETWEEN of aggregates; a name that "
            "is both a column and an alias, with ROLLUP, CUBE or GROUPING SETS",
        ),
        ("QUALIFY", "with aggregates, GROUP BY or HAVING; a name that is both a column and an alias"),
        ("ORDER BY … NULLS FIRST, NULLS LAST", "an alias in an aggregate, or beside a column of its name"),
        ("ORDER BY ALL", "a column or alias `all`"),
        ("SORT BY, CLUSTER BY", "with another order; all rows are sorted, which Spark does within partitions"),
        ("DISTRIBUTE BY", "with ORDER BY or CLUSTER BY; it has no effect"),
        ("LIMIT", "operands other than whole numbers, and + - * of them"),
        ("OFFSET", "operands other than whole numbers, and + - * of them"),
        "WITH",
        (
            "WITH RECURSIVE name AS (SELECT … UNION ALL SELECT … FROM name …)",
            "a recursive query with *, GROUP BY, DISTINCT, outer joins, aggregates or windows, or that reads its name "
            "twice or in a subquery",
        ),
        "VALUES",
        "subquery in FROM",
        (
            "range(end), range(start, end[, step[, partitions]])",
            "arguments that are not literal whole numbers or parameters",
        ),
        (
            "an alias of an item before it in the SELECT list",
            "in a subquery",
        ),
        ("LATERAL (SELECT …)", "table functions; RIGHT and FULL JOIN"),
        ("LATERAL VIEW [OUTER] explode(array)", "generators other than explode and posexplode"),
        (
            "PIVOT (f(x), … FOR column IN (value, …))",
            "of a joined relation; a CHAR column; FIRST and similar functions beside an aggregate of texts or times",
        ),
        ("UNPIVOT [INCLUDE NULLS] (value FOR name IN (column, …))", "of a joined relation; FLOAT beside other numbers"),
        "scalar subquery",
        "UNION",
        "UNION ALL",
        "INTERSECT",
        "INTERSECT ALL",
        "EXCEPT, MINUS",
        "EXCEPT ALL, MINUS ALL",
    ),
    **_section(
        "Joins",
        "INNER JOIN",
        "LEFT JOIN",
        ("RIGHT JOIN", "after a comma or CROSS JOIN"),
        ("FULL JOIN", "after a comma or CROSS JOIN"),
        "CROSS JOIN",
        "LEFT SEMI JOIN",
        "LEFT ANTI JOIN",
        ("USING", "after a comma or CROSS JOIN; columns of different types"),
        ("NATURAL", "after a comma or CROSS JOIN"),
    ),
    **_section(
        "Intervals as values",
        (
            "time - time, interval ± interval, time ± interval, interval * n, interval / n",
            "intervals of the two kinds together; a result column of years and months; a string; other numbers than "
            "integers",
        ),
    ),
    **_section(
        "Windows",
        ("f(…) [FILTER (…)] OVER (PARTITION BY … ORDER BY …)", "DISTINCT"),
        ("f(…) OVER name, WINDOW name AS (…)", "a window that extends another"),
        "ROWS BETWEEN … AND …",
        ("RANGE BETWEEN … AND …", "a distance over DECIMAL, FLOAT and DOUBLE; an interval of several units"),
    ),
}
