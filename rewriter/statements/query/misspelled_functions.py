"""Functions that a query calls by a misspelled name. A missing partition would hide the error of the engine."""

from __future__ import annotations

from sqlglot import exp

from rewriter.errors import AnalysisError, Error
from rewriter.exec.spark_functions import is_function, similar_function
from rewriter.grammar.terms import Query
from rewriter.planner.text.query_text import QueryText

#: The function of cubes that engines do not have.
_OWN = "time_range_in"


def misspelled_function(query: Query) -> Error | None:
    """Returns UNRESOLVED_ROUTINE 42883 for the first function of a query that Spark does not have, if its name is like
    one that Spark has; otherwise ``None``. Parses the query's text; starts no engine.
    """
    text = QueryText(query.text, query.span.start)
    for call in text.find_all(exp.Anonymous):
        name = call.name.lower()
        similar = None if is_function(name) or name == _OWN else similar_function(name)
        if similar is not None:
            return AnalysisError(
                f"There is no function {name}.",
                condition="UNRESOLVED_ROUTINE",
                sqlstate="42883",
                position=text.place(text.call(call)[0]),
                object=name,
                hint=f"Did you mean {similar}?",
            )
    return None
