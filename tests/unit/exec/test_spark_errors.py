"""Errors of Spark's as ours, without a Spark."""

import pytest

from rewriter.errors import DataError, EngineError
from rewriter.exec.spark.errors import translate_error


def test_an_error_that_we_raised_keeps_our_words_alone() -> None:
    text = "[USER_RAISED_EXCEPTION] [INSERT_WOULD_ROUND] The value 1.5 would be rounded. SQLSTATE: P0001\nmore"
    error = translate_error(RuntimeError(text), "SELECT 1")
    assert (type(error), error.condition, error.sqlstate) == (DataError, "INSERT_WOULD_ROUND", "22003")
    assert error.message == "The value 1.5 would be rounded."


def test_a_file_that_a_worker_cannot_read() -> None:
    error = translate_error(RuntimeError("ValueError: [FAILED_READ_FILE] The file /a cannot be read."), "SELECT 1")
    assert (type(error), error.condition, error.sqlstate) == (EngineError, "FAILED_READ_FILE", "KD001")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('Job aborted.\njava.io.IOException: Cannot run program "/opt/p/python": error=2', '"/opt/p/python"'),
        (
            "Caused by: [PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.9 than 3.11.\n\tat",
            "3.9 than",
        ),
        ("ModuleNotFoundError: No module named 'pyarrow'", "'pyarrow'"),
        ("[PACKAGE_NOT_INSTALLED] PyArrow >= 18.0.0 must be installed; however, it was not found.", ">= 18.0.0"),
    ],
)
def test_a_python_of_workers_that_cannot_work(text: str, words: str) -> None:
    error = translate_error(RuntimeError(text), "SELECT 1")
    assert (type(error), error.condition) == (EngineError, "WORKER_PYTHON")
    assert words in error.message
    assert "PYSPARK_PYTHON" in str(error.hint)


@pytest.mark.parametrize(
    ("text", "reason", "setting"),
    [
        ("Job aborted due to stage failure: java.lang.OutOfMemoryError: Java heap space", "Java heap", "driver.memory"),
        ("x\nCaused by: java.lang.OutOfMemoryError: GC overhead limit exceeded\n\tat", "GC overhead", "driver.memory"),
        (
            "Total size of serialized results of 5 tasks (1032.0 MiB) is bigger than spark.driver.maxResultSize "
            "(1024.0 MiB)",
            "larger than spark.driver.maxResultSize, 1024.0 MiB",
            "driver.maxResultSize",
        ),
        ("[UNABLE_TO_ACQUIRE_MEMORY] Unable to acquire 1 bytes of memory, got 0.", "UNABLE_TO", "driver.memory"),
        ("Not enough memory to build and broadcast the table to all worker nodes.", "broadcast", "driver.memory"),
        ("ExecutorLostFailure (executor 1 exited): Command exited with code 52", "code 52", "executor.memory"),
    ],
)
def test_an_error_of_memory_names_its_cause_and_the_setting(text: str, reason: str, setting: str) -> None:
    error = translate_error(RuntimeError(text), "SELECT 1")
    assert (type(error), error.condition, error.sqlstate) == (EngineError, "OUT_OF_MEMORY", "53200")
    assert reason in error.message
    assert f"spark.{setting}" in str(error.hint)


def test_a_python_function_that_fails_names_its_error() -> None:
    """The stack of the worker is left out; of two errors, the one that was raised last counts."""
    text = (
        "[PYTHON_EXCEPTION] An exception was thrown from the Python worker: Traceback (most recent call last):\n"
        '  File "worker.py", line 3, in main\n    process()\n'
        "    ~~~~~~~^^\nKeyError: 'a'\n\nDuring handling of the above exception, another exception occurred:\n\n"
        'Traceback (most recent call last):\n  File "<stdin>", line 1, in fail\n__main__.Mine: bad value 3\n'
        "second line\n\n\tat org.apache.spark.api.python.BasePythonRunner"
    )
    error = translate_error(RuntimeError(text), "SELECT fail(a) FROM t")
    assert (type(error), error.condition) == (EngineError, "PYTHON_EXCEPTION")
    assert error.message == "Python code failed in a worker of Spark: __main__.Mine: bad value 3"


def test_a_value_that_speaks_of_memory() -> None:
    from pyspark.errors import NumberFormatException

    class Cast(NumberFormatException):  # type: ignore[misc]
        def getCondition(self) -> str:
            return "CAST_INVALID_INPUT"

        def getSqlState(self) -> str:
            return "22018"

    text = "[CAST_INVALID_INPUT] The value 'java.lang.OutOfMemoryError: Java heap space' cannot be cast to INT."
    error = translate_error(Cast(text), "SELECT 1")
    assert (type(error), error.condition) == (DataError, "CAST_INVALID_INPUT")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "[DIVIDE_BY_ZERO] Division by zero. Use `try_divide` to tolerate divisor being 0 and return NULL instead. "
            'If necessary set "spark.sql.ansi.enabled" to "false" to bypass this error. SQLSTATE: 22012',
            "Division by zero. Use `try_divide` to tolerate divisor being 0 and return NULL instead.",
        ),
        (
            '[DATATYPE_MISMATCH.CAST_WITH_CONF_SUGGESTION] cannot cast "INT" to "DATE" with ANSI mode on. If you have '
            'to cast "INT" to "DATE", you can set "spark.sql.ansi.enabled" as "false".',
            'cannot cast "INT" to "DATE" with ANSI mode on.',
        ),
        (
            '[TRANSPOSE_EXCEED_ROW_LIMIT] Too many. Set "spark.sql.shuffle.partitions" to "3" to go on.',
            'Too many. Set "spark.sql.shuffle.partitions" to "3" to go on.',
        ),
    ],
)
def test_no_message_proposes_a_setting_that_is_refused(text: str, message: str) -> None:
    assert translate_error(RuntimeError(text), "SELECT 1").message == message
