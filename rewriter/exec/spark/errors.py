"""Spark's errors as ours: the condition, SQLSTATE, position and first line; never a Java stack."""

from __future__ import annotations

import re
from typing import Any

from rewriter.data_formats import DATA_FORMATS
from rewriter.errors import DataError, EngineError, Error, Span, disk_full, is_disk_full
from rewriter.exec.engine import disk_content
from rewriter.exec.engine_settings import engine_setting
from rewriter.exec.spark.object_files import missing_client
from rewriter.exec.spark.session_kinds import is_connect

#: The SQLSTATEs of our own errors that are raised through ``raise_error`` or in a Python worker: their messages begin
#: with their condition.
_OUR_STATES = {
    "INSERT_WOULD_ROUND": "22003",
    "EXCEED_LIMIT_LENGTH": "54006",
    "PARTITION_VALUE_TOO_LONG": "22001",
    "INVALID_PARTITION_VALUE": "42846",
    "TIME_OUTSIDE_ORC": "22008",
    "TIME_OUTSIDE_JSON": "22008",
    "VALUE_OUTSIDE_CSV": "22023",
    "VALUE_OUTSIDE_TEXTFILE": "22023",
    "FAILED_READ_FILE": "KD001",
}
_OWN_ERROR = re.compile(rf"\[({'|'.join(_OUR_STATES)})\] ([^\n]*)")
_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_]*(?:\.[A-Z0-9_]+)*)\] ?(.*)", re.DOTALL)
#: A cause in the stack that a server sends: its message, up to the first line of its own stack.
_CAUSE = re.compile(r"^Caused by: org\.apache\.spark\.[\w.$]+: (\[[A-Z].*?)(?=^\s+at |\Z)", re.DOTALL | re.MULTILINE)
#: A Python worker that cannot work, in the stack that Spark sends.
_WORKER_PYTHON = re.compile(
    r"(Cannot run program \"[^\"\n]*\"|\[PYTHON_VERSION_MISMATCH\] [^\n]*|No module named '(?:"
    + "|".join(["pyarrow", *(format.library for format in DATA_FORMATS.values() if format.library is not None)])
    + r")'|"
    r"PyArrow [^\n]*must be installed[^\n]*)"
)
#: What Python reports of an error in a worker: behind the lines of its stack, its type and its message.
_PYTHON_ERROR = re.compile(r"Traceback \(most recent call last\):\n(?:[ \t].*\n|\n)*([^\s].*)")
#: A setting that a message proposes, and its value.
_PROPOSAL = re.compile(r'"?(spark\.[\w.]*\w)"?(?: to | as |=)"?(\w+)"?')
_STATE = re.compile(r"\s*SQLSTATE: ([0-9A-Z]{5})")


def translate_error(error: BaseException, sql: str, directory: str | None = None) -> Error:
    """Returns an exception of PySpark or Py4J that ``sql`` caused, as an ``EngineError``, or as a ``DataError`` if a
    value is at fault (SQLSTATE class 22). ``directory`` is the target of the query's write.
    """
    text = _text(error)
    own_error = _OWN_ERROR.search(text)
    if own_error:
        ours_kind = EngineError if own_error[1] == "FAILED_READ_FILE" else DataError
        message = _STATE.sub("", own_error[2]).strip().rstrip("'\"")
        return ours_kind(message, condition=own_error[1], sqlstate=_OUR_STATES[own_error[1]])
    no_client = missing_client(f"{error}\n{text}")
    if no_client is not None:
        return no_client
    if is_disk_full(f"{error}\n{text}"):
        return disk_full(disk_content(directory), directory)
    python = _WORKER_PYTHON.search(f"{text}\n{error}")
    if python:
        return EngineError(
            f"The Python workers of Spark cannot work: {python[1].rstrip('.')}.",
            condition="WORKER_PYTHON",
            hint="Install Python, of the same minor version as here, and pyarrow on each worker, at the path that "
            "PYSPARK_PYTHON names, or else at that of this process's Python.",
        )
    exhausted = out_of_memory(f"{error}\n{text}") if _may_be_of_memory(error) else None
    if exhausted is not None:
        return exhausted
    python_errors = _PYTHON_ERROR.findall(text) or _PYTHON_ERROR.findall(str(error))
    if python_errors:
        return EngineError(
            f"Python code failed in a worker of Spark: {python_errors[-1].strip()}",
            condition="PYTHON_EXCEPTION",
            sqlstate="38000",
            hint="Correct the function, or exclude the values that it does not take.",
        )
    cause = _remote_cause(error, text)
    condition, state = _declared(error) if cause is None else (None, None)
    text = text if cause is None else cause
    match = _CONDITION.search(text)
    if match and (condition is None or match[1].startswith(condition)):
        condition = condition or match[1]
        text = match[2]
    found_state = _STATE.search(_text(error) if cause is None else cause)
    state = state or (found_state[1] if found_state else None)
    message = _without_refused_settings(_first_line(text)) or type(error).__name__
    kind = DataError if (state or "").startswith("22") or condition == "EXCEED_LIMIT_LENGTH" else EngineError
    return kind(message, condition=condition or "SPARK_ERROR", sqlstate=state, position=_position(error, sql))


def _may_be_of_memory(error: BaseException) -> bool:
    """Tests whether an error is of the machine. The messages of others may quote values."""
    condition, state = _declared(error)
    return condition is None or state is None or condition.startswith("UNABLE_TO_ACQUIRE_MEMORY")


def _declared(error: BaseException) -> tuple[str | None, str | None]:
    condition = getattr(error, "getCondition", lambda: None)()
    state = getattr(error, "getSqlState", lambda: None)()
    if condition is None and (java := _java_cause(error)) is not None:
        try:
            condition, state = java.getCondition(), java.getSqlState()
        except Exception:
            return None, None
    if condition == "FAILED_READ_FILE.NO_HINT" or condition is None:
        return condition, state
    return str(condition), None if state is None else str(state)


def _java_cause(error: BaseException) -> Any:
    """Returns the deepest Spark exception in Java's chain of causes, if Py4J passed one on."""
    java = getattr(error, "java_exception", None)
    cause = None
    for _ in range(20):
        if java is None:
            break
        if hasattr(java, "getCondition") and "spark" in java.getClass().getName().lower():
            cause = java
        java = java.getCause()
    return cause


def _remote_cause(error: BaseException, text: str) -> str | None:
    """Returns the message of the deepest Spark exception among the causes that a Spark Connect server sent."""
    causes = _CAUSE.findall(text) if is_connect(error) else []
    return str(causes[-1]) if causes else None


def _text(error: BaseException) -> str:
    java = _java_cause(error)
    if java is not None:
        return str(java.getMessage())
    describe = getattr(error, "getMessage", None)
    text = describe() if describe is not None and hasattr(error, "getCondition") else None
    return str(text or error)


def _first_line(text: str) -> str:
    for line in text.splitlines():
        line = _STATE.sub("", line).strip()
        if line:
            return line
    return ""


def _without_refused_settings(message: str) -> str:
    """Returns a message without the sentences that propose a setting which SET refuses."""
    sentences = re.split(r"(?<=\.) (?=[A-Z])", message)
    kept = [sentence for sentence in sentences if not any(map(_is_refused, _PROPOSAL.findall(sentence)))]
    return " ".join(kept or sentences)


def _is_refused(proposal: tuple[str, str]) -> bool:
    name, value = proposal
    setting = engine_setting(name)
    return setting is not None and not setting.accepts(value)


def _position(error: BaseException, sql: str) -> Span | None:
    """Returns the span of ``sql`` that the error's query context names, if the context is of this text."""
    try:
        for context in getattr(error, "getQueryContext", list)():
            start, stop = int(context.startIndex()), int(context.stopIndex()) + 1
            if 0 <= start < stop <= len(sql) and sql[start:stop] == str(context.fragment()):
                return Span(start, stop)
    except Exception:
        return None
    position = re.search(r"\(line (\d+), pos (\d+)\)", str(error))
    if position is None:
        return None
    lines = sql.split("\n")
    line, column = int(position[1]), int(position[2])
    if line > len(lines):
        return None
    start = sum(len(text) + 1 for text in lines[: line - 1]) + column
    return Span(start, start + 1) if start < len(sql) else None


# Errors of Spark that come from too little memory, and the setting that has more.

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
