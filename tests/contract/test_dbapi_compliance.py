"""The tests of the package ``dbapi-compliance`` for both names of the module, on all engines.

Three of its tests are replaced, each with the reason.
"""

from __future__ import annotations

import tempfile
from types import ModuleType
from typing import Any, ClassVar

import dbapi20
import pytest

import rewriter
from rewriter import dbapi
from rewriter.exec.engine import Engine

REPLACED = {"test_nextset", "test_setoutputsize", "test_non_idempotent_close"}


class Compliance(dbapi20.DatabaseAPI20Test):  # type: ignore[misc]
    """What both modules and both engines share."""

    __test__ = False
    driver: ClassVar[Any]
    engine: Engine

    def setUp(self) -> None:
        self.directory = tempfile.TemporaryDirectory()
        self.connect_args = (self.directory.name, self.engine)

    def tearDown(self) -> None:
        super().tearDown()
        self.directory.cleanup()

    def test_nextset(self) -> None:
        """Replaced because the driver has to: a statement has one result here, so the optional method is absent."""
        connection = self._connect()
        assert not hasattr(connection.cursor(), "nextset")
        connection.close()

    def test_setoutputsize(self) -> None:
        """Replaced because the driver has to: values are never cut off, whatever size is set."""
        connection = self._connect()
        cursor = connection.cursor()
        cursor.setoutputsize(1, 0)
        cursor.execute("SELECT repeat('x', 100)")
        assert cursor.fetchone() == ("x" * 100,)
        connection.close()

    def test_non_idempotent_close(self) -> None:
        """Replaced because PEP 249 does not require an error of a second ``close``, and most drivers have none."""
        connection = self._connect()
        connection.close()
        connection.close()
        with pytest.raises(self.driver.Error):
            connection.commit()


class OnDuckDB(Compliance):
    @pytest.fixture(autouse=True)
    def _engine(self, duckdb: Engine) -> None:
        self.engine = duckdb


class OnSpark(Compliance):
    @pytest.fixture(autouse=True)
    def _engine(self, spark: Engine) -> None:
        self.engine = spark


class OnConnect(Compliance):
    @pytest.fixture(autouse=True)
    def _engine(self, connect: Engine) -> None:
        self.engine = connect


class TestRewriterOnDuckDB(OnDuckDB):
    __test__ = True
    driver: ClassVar[ModuleType] = rewriter


class TestDBAPIOnDuckDB(OnDuckDB):
    __test__ = True
    driver: ClassVar[ModuleType] = dbapi


@pytest.mark.spark
class TestRewriterOnSpark(OnSpark):
    __test__ = True
    driver: ClassVar[ModuleType] = rewriter


@pytest.mark.spark
class TestDBAPIOnSpark(OnSpark):
    __test__ = True
    driver: ClassVar[ModuleType] = dbapi


@pytest.mark.spark
class TestRewriterOnConnect(OnConnect):
    __test__ = True
    driver: ClassVar[ModuleType] = rewriter


def test_all_others_are_those_of_the_package() -> None:
    own = {name for name in vars(Compliance) if name.startswith("test_")}
    assert own == REPLACED
    assert len([name for name in dir(dbapi20.DatabaseAPI20Test) if name.startswith("test_")]) == 36
