"""Random conditions over the columns of a relation, whose value may be TRUE, FALSE or NULL."""

from __future__ import annotations

import random

from .worlds import Column, Relation

_COMPARISONS = ("=", "<>", "<", "<=", ">", ">=", "<=>")


def predicate(rng: random.Random, relation: Relation, depth: int = 2) -> str:
    """Returns a condition in parentheses. Time is compared in a few of those over cubes."""
    kind = rng.random()
    if depth and kind < 0.4:
        left, right = (predicate(rng, relation, depth - 1) for _ in range(2))
        return f"({left} {rng.choice(('AND', 'OR'))} {right})"
    if depth and kind < 0.55:
        return f"(NOT {predicate(rng, relation, depth - 1)})"
    if depth and kind < 0.6:
        first, second, third = (predicate(rng, relation, 0) for _ in range(3))
        return f"(CASE WHEN {first} THEN {second} ELSE {third} END)"
    if relation.time is not None and kind > 0.9:
        return _of_time(rng, relation.time, relation.bounds)
    return _of_column(rng, relation, rng.choice(relation.columns))


def _of_time(rng: random.Random, time: str, bounds: tuple[str, ...]) -> str:
    low, high = sorted(rng.sample(bounds, 2))
    return rng.choice(
        (
            f"({time} >= '{low}')",
            f"({time} < '{high}')",
            f"({time} BETWEEN '{low}' AND '{high}')",
            f"({time} IS NULL)",
            f"({time} IS NOT NULL)",
            f"(hour({time}) < 12)",
            f"(to_date({time}) <> DATE '{low[:10]}')",
            f"(dayofweek({time}) IN (1, 7))",
            f"(date_trunc('MONTH', {time}) = TIMESTAMP '2013-02-01 00:00:00')",
        )
    )


def _of_column(rng: random.Random, relation: Relation, column: Column) -> str:
    name, literals = column.name, column.literals
    one, two = rng.choice(literals), rng.choice(literals)
    null = rng.choice((one, "NULL")) if rng.random() < 0.3 else two
    match column.kind:
        case "struct":
            return rng.choice((f"({name}.a = {one})", f"({name}.b = 'x')", f"({name} IS NULL)"))
        case "array":
            return rng.choice((f"(array_contains({name}, {one}))", f"(size({name}) > {one})", f"({name} IS NULL)"))
        case "map":
            return rng.choice((f"({name}['x'] = {one})", f"({name}['y'] IS NULL)", f"({name} IS NOT NULL)"))
        case "boolean":
            return rng.choice((f"({name})", f"({name} IS TRUE)", f"({name} IS NOT FALSE)", f"({name} = {one})"))
    forms = [
        f"({name} {rng.choice(_COMPARISONS)} {one})",
        f"({one} {rng.choice(_COMPARISONS)} {name})",
        f"({name} IN ({one}, {null}))",
        f"({name} NOT IN ({one}, {null}))",
        f"({name} BETWEEN {one} AND {two})",
        f"({name} NOT BETWEEN {one} AND {two})",
        f"({name} IS NULL)",
        f"({name} IS NOT NULL)",
        f"({name} IS DISTINCT FROM {one})",
        f"(COALESCE({name}, {one}) = {two})",
        f"(NULLIF({name}, {one}) = {two})",
    ]
    match column.kind:
        case "text":
            forms += [f"({name} LIKE '%A')", f"(length({name}) > 1)", f"(upper({name}) = {one})", f"({name} LIKE '_ ')"]
        case "char":
            forms = [form for form in forms if "BETWEEN" not in form and "NULLIF" not in form]  # DuckDB refuses them.
            forms += [f"(length({name}) = 4)", f"(rtrim({name}) = {one})"]
        case "whole":
            other = rng.choice([each.name for each in relation.columns if each.kind == "whole"])
            forms += [
                f"({name} % 2 = 1)",
                f"({name} = {other})",
                f"(abs({name}) > 2)",
                f"({name} IN (SELECT d FROM names))",
            ]
        case "decimal":
            forms += [f"({name} * 2 > {one})", f"(CAST({name} AS INT) = 1)", f"({name} < d)"]
        case "double" | "float":
            forms += [f"(isnan({name}))", f"(-{name} = {one})", f"({name} + 1 > {one})"]
        case "date":
            forms += [f"(year({name}) = 2013)", f"({name} < '2013-02-01')", f"(month({name}) = 2)"]
    return rng.choice(forms)
