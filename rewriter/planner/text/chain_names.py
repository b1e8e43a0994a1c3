"""The names of columns that are chains of AND or OR."""

from __future__ import annotations

from collections.abc import Sequence


def chain_name(word: str, names: Sequence[str]) -> str:
    """Returns Spark's name of a chain of at least one operand. Spark reads it as a balanced tree:
    ``a AND b AND c AND d`` is ``((a AND b) AND (c AND d))``.
    """
    if len(names) == 1:
        return names[0]
    middle = (len(names) + 1) // 2
    return f"({chain_name(word, names[:middle])} {word} {chain_name(word, names[middle:])})"
