"""The metastore that is compared with a real Hive metastore."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

#: The environment variable with the URI of a running metastore, such as ``thrift://127.0.0.1:9083``.
VARIABLE = "REWRITER_TEST_METASTORE"


@contextmanager
def metastore() -> Iterator[str]:
    """Returns the URI of the metastore under test, which has no databases but ``default``. Skips the test if there is
    none.
    """
    uri = os.environ.get(VARIABLE)
    if not uri:
        pytest.skip(f"there is no metastore to compare: set {VARIABLE} to its URI")
    yield uri
