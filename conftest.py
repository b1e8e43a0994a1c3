"""Options of our own for pytest, and how `pytest -n` shares the tests out."""

import signal

import pytest

# A run in the background begins with SIGINT ignored, which children inherit; tests of Ctrl-C need the usual handler.
signal.signal(signal.SIGINT, signal.default_int_handler)

#: What takes longest begins first, so that no process is left with it at the end.
_ORDER = ("tests/differential", "tests/fault", "tests/golden", "tests/contract", "tests/unit")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite", action="store_true", default=False, help="write what came out into the golden files")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    if config.option.numprocesses:
        config.option.dist, config.option.loadscopereorder = "loadgroup", False


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests on Spark go to one process, so that it starts once; those of a file stay together otherwise."""
    for item in items:
        item.add_marker(pytest.mark.xdist_group("spark" if _on_spark(item) else item.nodeid.split("::")[0]))
    items.sort(key=lambda item: (not _on_spark(item), _place(item.nodeid)))


def _on_spark(item: pytest.Item) -> bool:
    given = item.callspec.params.values() if hasattr(item, "callspec") else ()
    return "spark" in getattr(item, "fixturenames", ()) or "spark" in [one for one in given if isinstance(one, str)]


def _place(nodeid: str) -> int:
    return next((i for i, directory in enumerate(_ORDER) if nodeid.startswith(directory)), len(_ORDER))
