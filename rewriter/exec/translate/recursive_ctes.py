"""WITH RECURSIVE: the parts of a recursive common table expression, and its limits.

Spark fails if the 100th step still returns rows, or if there are more than a million of them. So each row has the
number of its step, and the rows are read through a test of both limits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from rewriter.exec.sql_types import INT, SqlType
from rewriter.exec.translate.casts import wider_type
from rewriter.exec.translate.expressions import Expressions

#: The name of the column with the number of a step, which no column of a user has.
STEP = "step of the recursion"
#: Spark's limits: of steps, and of rows.
_MOST_STEPS, _MOST_ROWS = 100, 1_000_000
_WRITE = "Write SELECT … UNION ALL SELECT … FROM name …, where only the second query reads the name."


@dataclass(frozen=True)
class RecursiveParts:
    """The first query of a recursive expression, and the query of a step, which returns the step's number, too."""

    anchor: exp.Expr
    step: exp.Select


def names_itself(cte: exp.Expr) -> bool:
    """Tests whether the query of a common table expression reads its own name."""
    return bool(_references(cte.this, cte.alias))


def _references(node: exp.Expr, name: str) -> list[exp.Table]:
    return [table for table in node.find_all(exp.Table) if not table.db and table.name.lower() == name.lower()]


def recursive_parts(e: Expressions, cte: exp.Expr, is_aggregate: Callable[[exp.Expr], bool]) -> RecursiveParts:
    """Returns the parts of an expression that reads itself. Raises Spark's errors for other forms."""
    body, name = cte.this, cte.alias
    is_union = isinstance(body, exp.Union) and not any(body.args.get(key) for key in ("order", "limit", "offset"))
    if not is_union or _references(body.this, name) or not isinstance(body.expression, exp.Select):
        e.text.wrong(
            f"The recursive query {name} is not a first query and a recursive query with UNION ALL between them.",
            "INVALID_RECURSIVE_CTE", "42836", cte, name, _WRITE,
        )  # fmt: skip
    if body.args.get("distinct"):
        e.text.wrong(
            f"The recursive query {name} has UNION. Write UNION ALL.",
            "UNION_NOT_SUPPORTED_IN_RECURSIVE_CTE", "42836", cte, name,
        )  # fmt: skip
    select = body.expression
    for key in ("group", "having", "distinct", "order", "limit", "offset", "qualify", "laterals", "with_"):
        if select.args.get(key):
            e.refuse(select, f"{key.strip('_').upper()} in a recursive query")
    joins = select.args.get("joins") or ()
    relations = [clause.this for clause in (select.args.get("from_"), *joins) if clause is not None]
    if len(_references(select, name)) > 1 or _references(select, name)[0] not in relations:
        e.text.refuse(f"The recursive query {name} that reads {name} in a subquery, or twice,", select, _WRITE)
    if any(join.args.get("side") or join.args.get("kind") in ("SEMI", "ANTI") for join in joins):
        e.refuse(select, "A recursive query with other joins than INNER and CROSS JOIN")
    if any(is_aggregate(node) or isinstance(node, exp.Window) for node in select.walk()):
        e.refuse(select, "An aggregate or a window in a recursive query")
    if any(isinstance(item, exp.Star) or isinstance(item.this, exp.Star) for item in select.expressions):
        e.text.refuse("SELECT * in a recursive query", select, "Name the columns.")
    step = select.copy()
    step.append("expressions", exp.Add(this=exp.column(STEP, quoted=True), expression=exp.Literal.number(1)))
    within_limit = exp.LT(this=exp.column(STEP, quoted=True), expression=exp.Literal.number(_MOST_STEPS))
    where = step.args.get("where")
    condition = within_limit if where is None else exp.And(this=exp.Paren(this=where.this), expression=within_limit)
    step.set("where", exp.Where(this=condition))
    return RecursiveParts(body.this, step)


def step_items(
    e: Expressions, node: exp.Expr, types: Sequence[SqlType], columns: Sequence[tuple[str, SqlType]]
) -> list[str]:
    """Returns the columns of a step's query, cast to the types of the first query. ``columns`` are those of the query
    without the number of the step.
    """
    if len(types) != len(columns):
        e.text.wrong(
            f"The queries of a recursion return {len(types)} and {len(columns)} columns.",
            "NUM_COLUMNS_MISMATCH", "42826", node,
        )  # fmt: skip
    items = []
    for number, (type_, (_, step_type)) in enumerate(zip(types, columns, strict=True)):
        if type_ != step_type and not (type_.is_integer and step_type.is_integer):
            hint = f"Cast the column of the recursive query: CAST(… AS {type_.shown})."
            e.text.refuse(f"A recursion from {type_} to {step_type}", node, hint)
        if type_ != step_type and wider_type(type_, step_type) != type_:
            e.text.wrong(
                f"The recursive query returns {step_type.shown}, which is wider than {type_.shown} of the first query.",
                "CANNOT_MERGE_INCOMPATIBLE_DATA_TYPE", "42825", node, None,
                f"Cast the column of one of them: CAST(… AS {step_type.shown}).",
            )  # fmt: skip
        items.append(f"CAST(c{number} AS {_integer(type_)}) AS c{number}" if type_ != step_type else f"c{number}")
    return [*items, f"c{len(types)}"]


def _integer(type_: SqlType) -> str:
    return {"tinyint": "TINYINT", "smallint": "SMALLINT", "int": "INTEGER"}.get(type_.name, "BIGINT")


def limited(rows: str, name: str, count: int) -> str:
    """Returns the query of the rows of a recursion. ``rows`` is its name, and ``count`` the number of its columns."""
    quoted = name.replace("'", "''")
    steps = f"[RECURSION_LEVEL_LIMIT_EXCEEDED] The recursion {quoted} has rows after {_MOST_STEPS} steps."
    many = f"[RECURSION_ROW_LIMIT_EXCEEDED] The recursion {quoted} has more than {_MOST_ROWS:,} rows."
    columns = ", ".join(f"c{number}" for number in range(count))
    return (
        f"SELECT {columns} FROM {rows} WHERE CASE WHEN (SELECT max(c{count}) FROM {rows}) >= {_MOST_STEPS} "
        f"THEN error('{steps}') WHEN (SELECT count(*) FROM {rows}) > {_MOST_ROWS} THEN error('{many}') ELSE true END"
    )


#: The type of the number of a step.
STEP_TYPE = INT
