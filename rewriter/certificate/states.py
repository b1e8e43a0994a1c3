"""The clauses AS OF of a query, and the commit that each of them means.

A name with a clause is read at the commit of its state, and any other name at the newest commit. In the executed text,
a name without ``VERSION AS OF n`` is read at the certificate's commit.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sqlglot import exp, tokenize
from sqlglot.errors import SqlglotError

from rewriter.certificate.evidence import NotUnderstood, OutOfSight, Refuted, Rows
from rewriter.certificate.expressions import ComputedExpressions, tree_of
from rewriter.certificate.periods import read_time
from rewriter.certificate.subqueries import clauses_of

_CLAUSE = re.compile(r"(?:FOR\s+)?(VERSION|SYSTEM_VERSION|TIMESTAMP|SYSTEM_TIME)\s+AS\s+OF\b\s*(\S.*)", re.I | re.S)
_UNREAD = [["SYSTEM_VERSION", "AS", "OF"], ["SYSTEM_TIME", "AS", "OF"]]
_STATELESS = "a clause AS OF has no state"
_COMMIT = "SELECT COUNT(*) FROM transactions WHERE commit_seq = :commit"
_COMMIT_AT = "SELECT MAX(commit_seq) FROM transactions WHERE heartbeat_at < :behind"


def without_clauses(certificate: Mapping[str, Any], rows: Rows) -> Mapping[str, Any]:
    """Returns the certificate with blanks in the places of its clauses, and with ``commits``: those of the names, by
    the offset behind a name.

    Raises ``Refuted`` for a state that is not that of its clause, for a clause without a state, and for a name without
    a clause beside another commit than the newest one. Two reads for each clause that names a time.
    """
    key = "query" if certificate.get("typed") is None else "typed"
    text, states, commits = certificate[key], certificate.get("states") or [], dict[int, int]()
    newest = certificate["newest_commit"] if states else certificate["commit"]
    parameters = set[str]()
    for state in states:
        start, end, commit = state["start"], state["end"], state["commit"]
        matched = _CLAUSE.fullmatch(text, start, end) if 0 < start < end <= len(text) else None
        if matched is None:
            raise Refuted(f"{text[start:end][:80]!r} is no clause AS OF")
        value = tree_of(f"SELECT {matched[2]}")
        _check_state(matched[1].upper(), value, commit, certificate, rows)
        parameters |= {placeholder.name for placeholder in value.find_all(exp.Placeholder)}
        text = text[:start] + " " * (end - start) + text[end:]
        commits[len(text[:start].rstrip())] = commit
    plain = {**certificate, key: text, "commits": commits}
    tree = _tree_without_clauses(text)
    tables = [table for table in tree.find_all(exp.Table) if isinstance(table.this, exp.Identifier)]
    if any(table.args.get("version") for table in tables):
        raise Refuted(_STATELESS)
    if commits.keys() - {_end_of_name(table) for table in tables}:
        raise NotUnderstood("a clause AS OF that stands behind no name of a table")
    if newest != certificate["commit"]:
        of_query = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
        for table in tables:
            is_of_catalog = table.db or table.name.lower() not in of_query
            if is_of_catalog and _end_of_name(table) not in commits and table.find_ancestor(exp.Hint) is None:
                raise Refuted(f"{table.name} has no clause AS OF, and is read at commit {newest}")
    # A parameter of a clause alone is none of the text that remains.
    named = {name for name in parameters if re.search(rf":\s*{re.escape(name)}\b", plain["query"]) is None}
    plain["parameters"] = {name: text for name, text in certificate["parameters"].items() if name not in named}
    return plain


def with_commits(tree: exp.Expr, certificate: Mapping[str, Any], commits: Mapping[int, int]) -> exp.Expr:
    """Returns the tree of a text in which the names that are read at another commit than the certificate's have
    ``VERSION AS OF n``. ``commits`` are those of the names that had a clause, by the offset behind a name.
    """
    if not commits and not any(table.args.get("version") for table in tree.find_all(exp.Table)):
        return tree
    tree = tree.copy()
    for table in tree.find_all(exp.Table):
        commit = commits.get(_end_of_name(table), certificate["commit"])
        if table.args.get("version"):
            commit = _commit_in(table.args["version"])
        is_other = commit != certificate["commit"]
        table.set("version", _version(commit) if is_other else None)
    return tree


def _check_state(kind: str, value: exp.Expr, commit: int, certificate: Mapping[str, Any], rows: Rows) -> None:
    """The commit is the one that the clause means, and no later one than the query saw."""
    newest = certificate["newest_commit"]
    if not isinstance(value, exp.Select) or clauses_of(value) != {"expressions"} or len(value.expressions) != 1:
        raise NotUnderstood(f"{value.sql('spark')[7:80]} in a clause AS OF")
    (node,) = value.expressions
    now = read_time(certificate["now"].removesuffix("Z"), "UTC")
    computed = ComputedExpressions(now=now)
    if isinstance(node, exp.Placeholder):
        node = exp.Literal.string(certificate["parameters"][node.name])
    if not 0 < commit <= newest:
        raise Refuted(f"commit {commit} is none of the {newest} that the query saw")
    if kind in ("VERSION", "SYSTEM_VERSION"):
        meant = int(str(computed.constant(node)))
    else:
        at = computed.instant(node)
        if at is None:
            raise Refuted(f"{node.sql('spark')[:80]} is no time")
        if not rows(_COMMIT, {"commit": commit})[0][0]:
            raise OutOfSight(f"the catalog no longer has the time of commit {commit}")
        # A time is a whole number of microseconds, and stored as a fraction of seconds.
        meant = rows(_COMMIT_AT, {"behind": (at + 1) / 1e6})[0][0] or 0
        if meant > newest:
            raise NotUnderstood(f"a time at or behind commit {meant}, when the query saw {newest}")
    if meant != commit:
        raise Refuted(f"the clause AS OF means commit {meant}, not {commit}")


def _tree_without_clauses(text: str) -> exp.Expr:
    try:
        return tree_of(text)
    except SqlglotError:
        # sqlglot does not read all words of a clause.
        words = [token.text.upper() for token in tokenize(text, read="spark")]
        if any(words[at : at + 3] in _UNREAD for at in range(len(words))):
            raise Refuted(_STATELESS) from None
        raise


def _end_of_name(table: exp.Table) -> int:
    """Returns the offset behind the name of a table; -1 for one that is not in the text."""
    return int(table.this.meta.get("end", -2)) + 1 if isinstance(table.this, exp.Identifier) else -1


def _version(commit: int) -> exp.Version:
    return exp.Version(this="VERSION", expression=exp.Literal.number(commit), kind="AS OF")


def _commit_in(version: exp.Expr) -> int:
    """Returns the number in ``VERSION AS OF n``."""
    number = version.expression
    if not isinstance(number, exp.Literal) or version != _version(int(number.name)):
        raise NotUnderstood(f"{version.sql('spark')[:80]} in the executed text")
    return int(number.name)
