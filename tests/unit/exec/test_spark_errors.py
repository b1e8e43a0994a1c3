"""Errors of Spark's as ours, without a Spark."""

from rewriter.errors import DataError, EngineError
from rewriter.exec.spark.errors import translated


def test_an_error_that_we_raised_keeps_our_words_alone() -> None:
    text = "[USER_RAISED_EXCEPTION] [INSERT_WOULD_ROUND] The value 1.5 would be rounded. SQLSTATE: P0001\nmore"
    error = translated(RuntimeError(text), "SELECT 1")
    assert (type(error), error.condition, error.sqlstate) == (DataError, "INSERT_WOULD_ROUND", "22003")
    assert error.message == "The value 1.5 would be rounded."


def test_a_file_that_a_worker_cannot_read() -> None:
    error = translated(RuntimeError("ValueError: [FAILED_READ_FILE] The file /a cannot be read."), "SELECT 1")
    assert (type(error), error.condition, error.sqlstate) == (EngineError, "FAILED_READ_FILE", "KD001")
