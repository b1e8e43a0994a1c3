"""The choice of the results that are computed at once instead of streamed.

DuckDB plans a query whose rows are streamed twice, which costs 0.15 ms for each file. The rows of a query of many small
files are copied in memory instead, unless it may multiply them.
"""

from __future__ import annotations

from rewriter.exec.engine import EngineQuery
from rewriter.grammar.lexer import TokenKind, tokens

#: The least files whose second planning takes long, and the most bytes of them.
_MANY_FILES, _MOST_BYTES = 20, 64 << 20
_MULTIPLYING = frozenset(
    "JOIN LATERAL EXPLODE EXPLODE_OUTER POSEXPLODE POSEXPLODE_OUTER INLINE INLINE_OUTER STACK SEQUENCE UNNEST".split()
)
_ENDS_OF_FROM = tuple("WHERE GROUP HAVING ORDER SORT LIMIT UNION EXCEPT INTERSECT WINDOW SELECT".split())


def is_copied(query: EngineQuery) -> bool:
    """Tests whether the rows of a query are computed at once."""
    sizes = [file.bytes for relation in query.relations for file in relation.files]
    return len(sizes) >= _MANY_FILES and sum(sizes) <= _MOST_BYTES and not _may_multiply(query)


def _may_multiply(query: EngineQuery) -> bool:
    """Tests whether a result may have more rows than the files: by a join, also one with a comma, or a generator."""
    in_from = [False]
    for token in tokens(query.sql) if query.tokens is None else query.tokens:
        if token.kind is TokenKind.WORD:
            word = token.upper
            if word in _MULTIPLYING:
                return True
            if word == "FROM":
                in_from[-1] = True
            elif word in _ENDS_OF_FROM:
                in_from[-1] = False
        elif token.is_operator("("):
            in_from.append(False)
        elif token.is_operator(")") and len(in_from) > 1:
            in_from.pop()
        elif token.is_operator(",") and in_from[-1]:
            return True
    return False
