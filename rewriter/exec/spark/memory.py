"""Errors of Spark that come from too little memory, and the setting that has more."""

from __future__ import annotations

import re

from rewriter.errors import EngineError

#: What Spark and Java say when memory is used up; 52 is the exit code of an executor that it was.
_EXHAUSTED = re.compile(
    r"java\.lang\.OutOfMemoryError(?:: (?P<kind>[A-Za-z][^\n)]{0,60}))?|(?P<other>Java heap space|"
    r"GC overhead limit exceeded|UNABLE_TO_ACQUIRE_MEMORY|Not enough memory to build and broadcast|"
    r"exited with code 52\b)"
)
_RESULT_SIZE = re.compile(r"is bigger than spark\.driver\.maxResultSize \(([^)]*)\)")
_FILE = (
    "in spark-defaults.conf, whose directory SPARK_CONF_DIR names. For a session that was handed in, raise it where "
    "that is started."
)


def out_of_memory(text: str) -> EngineError | None:
    """Returns ``EngineError`` OUT_OF_MEMORY for a message or a log of Spark that says so; ``None`` for others.

    >>> out_of_memory("java.lang.OutOfMemoryError: Java heap space").message
    'Spark has not enough memory: Java heap space.'
    """
    size = _RESULT_SIZE.search(text)
    if size is not None:
        return _error(
            f"Spark has not enough memory for the result of one step: it is larger than spark.driver.maxResultSize, "
            f"{size[1]}.",
            f"Raise spark.driver.maxResultSize, and spark.driver.memory as much, {_FILE}",
        )
    exhausted = _EXHAUSTED.search(text)
    if exhausted is None:
        return None
    reason = (exhausted["kind"] or exhausted["other"] or "OutOfMemoryError").strip().rstrip(".")
    return _error(
        f"Spark has not enough memory: {reason}.",
        f"Raise spark.driver.memory, on a cluster spark.executor.memory, {_FILE}",
    )


def _error(message: str, hint: str) -> EngineError:
    return EngineError(message, condition="OUT_OF_MEMORY", sqlstate="53200", hint=f"{hint}")
