"""docs/reference/functions.md: each function of Spark, with what DuckDB runs of it, and what it does over cubes."""

from __future__ import annotations

import itertools
import logging
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import sqlglot
from sqlglot import exp

import rewriter
from rewriter.errors import Error, NotSupportedError, ParseError
from rewriter.exec.spark_functions import _OF_THE_GRAMMAR, function_groups
from rewriter.exec.translate.function_support import entries_of, runs_on_duckdb
from rewriter.planner.model.plan import Clock, ReasonKind
from rewriter.planner.time.constant_folding import Constants, Kind
from rewriter.planner.time.time_predicates import operand_of

#: The title of each family: the groups of Spark in it, in the order of the page.
FAMILIES: dict[str, tuple[str, ...]] = {
    "Aggregates": ("agg_funcs",),
    "Window functions": ("window_funcs",),
    "Dates and times": ("datetime_funcs",),
    "Strings": ("string_funcs",),
    "Numbers": ("math_funcs",),
    "Bits": ("bitwise_funcs",),
    "Conditions": ("predicate_funcs", "conditional_funcs"),
    "Casts": ("conversion_funcs",),
    "Arrays, maps and structs": ("array_funcs", "collection_funcs", "map_funcs", "struct_funcs"),
    "Functions with lambdas": ("lambda_funcs",),
    "Generators": ("generator_funcs",),
    "JSON, CSV, XML, Avro, Protobuf": ("json_funcs", "csv_funcs", "xml_funcs", "avro_funcs", "protobuf_funcs"),
    "Variants": ("variant_funcs",),
    "Hashes and URLs": ("hash_funcs", "url_funcs"),
    "Sketches": ("sketch_funcs",),
    "Geometry and vectors": ("st_funcs", "vector_funcs"),
    "Other functions": ("misc_funcs",),
    "Table functions": ("table_funcs",),
}
#: Functions that Spark has in no group.
_GROUPS = {
    **dict.fromkeys(("!=", "<>"), "predicate_funcs"),
    **dict.fromkeys(_OF_THE_GRAMMAR, "datetime_funcs"),
    "case": "conditional_funcs",
    "||": "string_funcs",
}
#: The uses of an aggregate that are tried, and how the page calls them.
_ARGUMENTS = {
    "*": "rows",
    "n": "a dimension",
    "DISTINCT n": "DISTINCT of a dimension",
    "counted": "a measure COUNT",
    "summed": "a measure SUM",
    "averaged": "a measure SUM COUNTED BY",
    "least_value": "a measure MIN",
    "greatest_value": "a measure MAX",
    "all_true": "a measure BOOL_AND",
    "any_true": "a measure BOOL_OR",
    "common_bits": "a measure BIT_AND",
    "all_bits": "a measure BIT_OR",
    "ids": "a measure BITMAP_OR",
    "people": "a measure THETA_UNION",
    "n, 0.5, counted": "a dimension with a COUNT measure as frequency",
    "last_value, greatest_value": "a measure LAST and its time",
    "first_value, least_value": "a measure FIRST and its time",
}
_MOMENT = "TIMESTAMP '2024-01-01'"
#: Calls of functions that take no simple list of arguments.
_CALLS = {
    "!": "!(n = 1)",
    "between": "n BETWEEN 1 AND 2",
    "case": "CASE n WHEN 1 THEN 2 END",
    "cast": "CAST(n AS STRING)",
    "date_trunc": "date_trunc('MONTH', t)",
    "in": "n IN (1, 2)",
    "timediff": f"timediff(DAY, {_MOMENT}, {_MOMENT})",
    "timestampadd": f"timestampadd(DAY, n, {_MOMENT})",
    "timestampdiff": f"timestampdiff(DAY, {_MOMENT}, {_MOMENT})",
    "trunc": "trunc(t, 'MONTH')",
    "when": "CASE WHEN n = 1 THEN 2 END",
    "~": "~n",
}
_SETUP = """
CREATE TABLE hours (n INT, counted BIGINT, summed BIGINT, averaged BIGINT, least_value INT, greatest_value INT,
    all_true BOOLEAN, any_true BOOLEAN, common_bits INT, all_bits INT, b BIGINT, ids BINARY, people BINARY,
    last_value INT, first_value INT) PARTITIONED BY (dt STRING);
CREATE CUBE c (n INT, counted BIGINT MEASURE COUNT, summed BIGINT MEASURE SUM,
    averaged BIGINT MEASURE SUM COUNTED BY counted NOT NULL, least_value INT MEASURE MIN,
    greatest_value INT MEASURE MAX, all_true BOOLEAN MEASURE BOOL_AND, any_true BOOLEAN MEASURE BOOL_OR,
    common_bits INT MEASURE BIT_AND, all_bits INT MEASURE BIT_OR, b BIGINT, ids BINARY MEASURE BITMAP_OR BUCKETED BY b,
    people BINARY MEASURE THETA_UNION,
    last_value INT MEASURE LAST BY greatest_value PER (n), first_value INT MEASURE FIRST BY least_value PER (n),
    t TIMESTAMP TIME);
CREATE FACT f OF CUBE c STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY t AS (dt = 'yyyy-MM-dd-HH'));
INSERT INTO hours PARTITION (dt = '2024-01-01-00')
    SELECT 1, 1, 1, 1, 1, 1, TRUE, TRUE, 1, 1, 1, bitmap_construct_agg(1), theta_sketch_agg(1), 1, 1
"""
_HOUR = "t >= '2024-01-01' AND t < '2024-01-01 01:00:00'"
#: Words of the list that point to another part of its page.
_LINKS = {
    "other than those below": "other than [these](duckdb.md#patterns)",
    "not listed below": "not in [this list](duckdb.md#time-zones)",
}
#: The length of a line of prose.
_LINE = 118
#: The largest number of forms that a cell has.
_MOST_FORMS = 4

_HEAD = """\
# Functions

The functions and operators of Spark 4.3, by family. This page is generated from the source:
`pytest tests/unit/documents/test_functions_page.py --rewrite`.

- **On Spark** each function runs: the text of a query reaches Spark as it was typed, apart from the names
  of tables, cubes and views.
- **On DuckDB** the functions in the tables run in the forms that are shown. [Supported SQL on DuckDB](duckdb.md) has
  the same forms with the differences that remain. Any other function or form is refused with `DUCKDB_UNSUPPORTED`.
- **Rollups**: what a query over a cube may read if it uses the function ([aggregates](semantics.md#aggregates)).
  *yes*: the function is known to be deterministic. Over dimensions it may read rollups. *no*: the query reads the base
  partitions of one fact. *refused*: a query over a cube cannot contain it.
- A function of a measure outside of an aggregate reads the base partitions, whatever the function is.

`SHOW FUNCTIONS` lists the names, and `DESCRIBE FUNCTION EXTENDED` says the same of one function
([functions](dialect/75-functions.md)).

## Functions of cubes

`time_range_in(t, 'from', 'to')` selects a range of whole periods of the time dimension `t` of a cube
([time_range_in](semantics.md#time_range_in)). It runs on both engines, because it becomes a comparison before the query
reaches an engine. It is no function of other tables. There are no functions of users: [functions of metastore
clients](../how-to/metastore.md) are stored for these clients and never called.
"""

_INTRODUCTIONS = {
    "Aggregates": """\
*Rollups* says of which arguments the aggregate is computed from rollups. With any other argument, and if *no* is
stated, it is computed from the base partitions. An aggregate with a condition, `f(x) FILTER (WHERE …)`, is judged by
its argument; the condition may name dimensions. A COUNT over a cube counts events
([count](semantics.md#count)). COUNT of several columns is refused over a cube with a COUNT measure: `AMBIGUOUS_COUNT`.
`measure` is a function of Spark's metric views, which a catalog does not have.
""",
    "Window functions": """\
A window over the rows of a cube reads the base partitions, whatever its function is. A window over groups, as in
`SELECT n, rank() OVER (ORDER BY SUM(m)) FROM c GROUP BY n`, is computed after the groups, and does not count.
""",
    "Dates and times": """\
*Time* says what a condition on the time dimension `t` of a cube, or on the time columns of partitions, may contain.
*constant*: if the arguments are constants, the function is computed before the query, as in
`t >= date_trunc('MONTH', now())`. *of t*: a comparison of the function of `t` with a constant selects partitions, as in
`year(t) = 2024`. Other functions are evaluated for each row.
""",
    "Generators": """\
In LATERAL VIEW, a generator over dimensions may read rollups. In a SELECT list it reads the base partitions.
""",
    "JSON, CSV, XML, Avro, Protobuf": """\
The functions of Avro and Protobuf need packages of Spark: `spark-avro` and `spark-protobuf`.
""",
    "Table functions": """\
Functions in FROM, as in `SELECT * FROM range(10)`.
""",
}


@dataclass(frozen=True)
class Function:
    """A function of Spark. ``rollups`` is the cell of this name, ``time`` that of conditions on time."""

    name: str
    group: str
    rollups: str
    time: str


def page(directory: Path) -> str:
    """Returns the text of docs/reference/functions.md. Plans queries in a new warehouse below the directory."""
    by_group: dict[str, list[Function]] = {}
    for function in functions(directory):
        by_group.setdefault(function.group, []).append(function)
    parts = [_HEAD]
    for title, groups in FAMILIES.items():
        listed = [function for group in groups for function in by_group.get(group, ())]
        parts.append(_family(title, sorted(listed, key=lambda function: function.name)))
    return "\n".join(parts)


def _family(title: str, listed: list[Function]) -> str:
    on_both = [function for function in listed if runs_on_duckdb(function.name)]
    shows_time = any(function.time for function in listed)
    lines = [f"## {title}\n"]
    if title in _INTRODUCTIONS:
        lines.append(_INTRODUCTIONS[title])
    if on_both:
        lines += [f"| function | on DuckDB | except | rollups |{' time |' if shows_time else ''}"]
        lines += [f"| --- | --- | --- | --- |{' --- |' if shows_time else ''}"]
        for function in on_both:
            form, refused = _forms(function.name)
            cells = [_code(function.name), form, refused, function.rollups, *([function.time] if shows_time else [])]
            lines.append(f"| {' | '.join(cells)} |")
        lines.append("")
    others = [function for function in listed if function not in on_both]
    for rollups in sorted({function.rollups for function in others}, reverse=True):
        names = ", ".join(_code(function.name) for function in others if function.rollups == rollups)
        condition = f", rollups *{rollups}*" if rollups else ""
        lines += [*textwrap.wrap(f"On Spark only{condition}: {names}.", _LINE, break_on_hyphens=False), ""]
    return "\n".join(lines)


def _forms(name: str) -> tuple[str, str]:
    """Returns the cells with the forms that DuckDB runs, and with what it refuses of them."""
    entries = entries_of(name)
    if not entries:
        return _code(name + "()"), ""
    if len(entries) > _MOST_FORMS:
        return "[forms](duckdb.md#casts)", ""
    refused = dict.fromkeys(entry.refused for entry in entries if entry.refused)
    cell = "; ".join(refused).replace("|", "\\|")
    for words, link in _LINKS.items():
        cell = cell.replace(words, link)
    return ", ".join(_code(entry.form) for entry in entries), cell


def _code(text: str) -> str:
    text = text.replace("|", "\\|")
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def functions(directory: Path) -> Iterator[Function]:
    """Yields all functions of Spark, with what the planner makes of them."""
    times = _TimeFunctions()
    with rewriter.connect(directory / "w", engine="duckdb") as connection:
        for statement in _SETUP.split(";"):
            connection.execute(statement)
        judged = _Judge(connection)
        names = [*function_groups(), *_OF_THE_GRAMMAR]
        for name in names:
            group = _GROUPS.get(name) or function_groups()[name]
            group = "table_funcs" if group == "-" else group
            yield Function(name, group, judged.cell(name, group), times.cell(name, group))


class _Judge:
    """Plans queries over a cube, and reads from their plans whether rollups are allowed."""

    def __init__(self, connection: rewriter.dbapi.Connection) -> None:
        self._session = connection.session

    def cell(self, name: str, group: str) -> str:
        if group == "agg_funcs":
            return self._aggregate(name)
        if group == "window_funcs":
            calls = (f"{name}({arguments}) OVER (ORDER BY SUM(summed))" for arguments in ("", "n", "n, 1"))
            allowed = any(self._kinds(f"SELECT n, {call} FROM c WHERE {_HOUR} GROUP BY n") == [] for call in calls)
            return "over groups" if allowed else "no"
        if group == "generator_funcs":
            view = f"LATERAL VIEW {name}(array(n)) v WHERE {_HOUR}"
            return "in LATERAL VIEW" if self._kinds(f"SELECT SUM(summed) FROM c {view}") == [] else "no"
        if group == "table_funcs":
            return ""
        return self._scalar(name)

    def _aggregate(self, name: str) -> str:
        if name in ("grouping", "grouping_id"):
            query = f"SELECT n, {name}({'n' if name == 'grouping' else ''}), SUM(summed) FROM c WHERE {_HOUR}"
            return "keys of groups" if self._kinds(f"{query} GROUP BY ROLLUP (n)") == [] else "no"
        uses = [
            words
            for argument, words in _ARGUMENTS.items()
            if self._kinds(f"SELECT {name}({argument}) FROM c WHERE {_HOUR} AND b = 1 AND n = 1") == []
        ]
        return ", ".join(uses) if uses else "no"

    def _scalar(self, name: str) -> str:
        queries = (f"SELECT {call}, SUM(summed) FROM c WHERE {_HOUR} GROUP BY ALL" for call in _calls(name))
        reasons = [reasons for reasons in map(self._kinds, queries) if reasons is not None]
        return "refused" if not reasons else "yes" if [] in reasons else "no"

    def _kinds(self, query: str) -> list[ReasonKind] | None:
        """Returns the reasons why the query reads the base; ``None`` if it is no query."""
        try:
            plan = self._session.plan(query)
        except (ParseError, NotSupportedError):
            return None
        except Error as error:
            if error.condition not in _OTHER_ERRORS:
                raise
            return None
        return [reason.kind for reference in plan.coverage.references for reason in reference.reasons]


#: Errors of calls that make no sense: ``in(n)`` is read as a column.
_OTHER_ERRORS = ("UNRESOLVED_COLUMN.WITH_SUGGESTION", "WRONG_NUM_ARGS")


def _calls(name: str) -> Iterator[str]:
    if name in _CALLS:
        yield _CALLS[name]
    elif not name.isidentifier():
        yield f"n {name} n"
    else:
        yield from (f"{name}({', '.join(['n'] * count)})" for count in (1, 2, 3, 0, 4, 5, 6, 7))
        yield f"n {name} n"


class _TimeFunctions:
    """Reads functions of time as the planner reads conditions on time."""

    def __init__(self) -> None:
        self._constants = Constants(Clock(0), {})

    def cell(self, name: str, group: str) -> str:
        if group != "datetime_funcs":
            return ""
        logging.getLogger("sqlglot").setLevel(logging.ERROR)
        return ", ".join([*(["constant"] if self._is_folded(name) else []), *(["of t"] if self._is_of_t(name) else [])])

    def _is_folded(self, name: str) -> bool:
        values = ("'2024-01-15'", "'MONTH'", "1", "DAY")
        lists = [*(list(itertools.product(values, repeat=count)) for count in range(4)), [("2024", *["1"] * 5)]]
        for node in (_parsed(f"{name}({', '.join(values)})") for rows in lists for values in rows):
            folded = None if node is None else self._constants.fold(node)
            if folded is not None and folded.kind in (Kind.DATE, Kind.TIMESTAMP):
                return True
        return False

    def _is_of_t(self, name: str) -> bool:
        forms = ("t", "'MONTH', t", "t, 'MONTH'", "t, 1", "t, 'yyyy-MM-dd'", "MONTH FROM t", "DAY, 1, t")
        for node in (_parsed(f"{name}({form})") for form in forms):
            columns = [] if node is None else [column for column in node.find_all(exp.Column) if column.name == "t"]
            if node is not None and len(columns) == 1:
                operand = operand_of(node, columns[0], self._constants, lambda _: "yyyy-MM-dd")
                if operand is not None:
                    return True
        return False


def _parsed(call: str) -> exp.Expr | None:
    try:
        return sqlglot.parse_one(call, read="spark")
    except (sqlglot.ParseError, ValueError):
        return None


def families() -> Mapping[str, str]:
    """Returns the title of the family of each group of Spark."""
    return {group: title for title, groups in FAMILIES.items() for group in groups}
