"""Options of our own for pytest."""

import signal

import pytest

# A run in the background begins with SIGINT ignored, which children inherit; tests of Ctrl-C need the usual handler.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite", action="store_true", default=False, help="write what came out into the golden files")
