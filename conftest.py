"""Options of our own for pytest, and how `pytest -n` shares the tests out."""

import signal

import pytest

# A run in the background begins with SIGINT ignored, which children inherit; tests of Ctrl-C need the usual handler.
signal.signal(signal.SIGINT, signal.default_int_handler)

#: What takes longest begins first, so that no process is left with it at the end.
_ORDER = ("tests/differential/test_rewriting", "tests/contract", "tests/differential", "tests/fault", "tests/golden")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite", action="store_true", default=False, help="write what came out into the golden files")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """A file's tests stay in one process: what they share is made once."""
    if config.option.numprocesses:
        config.option.dist, config.option.loadscopereorder = "loadfile", False


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: _place(item.nodeid))


def _place(nodeid: str) -> int:
    return next((i for i, beginning in enumerate(_ORDER) if nodeid.startswith(beginning)), len(_ORDER))
