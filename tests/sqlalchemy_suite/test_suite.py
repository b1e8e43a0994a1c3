"""All tests of SQLAlchemy's suite."""

from typing import Any

from sqlalchemy.testing import suite
from sqlalchemy.testing.suite import *  # noqa: F403


class ComponentReflectionTest(suite.ComponentReflectionTest):  # type: ignore[misc]
    """The same tests, but every column may be NULL."""

    def exp_columns(self, *arguments: Any, **named: Any) -> Any:
        expected = super().exp_columns(*arguments, **named)
        for columns in expected.values():
            for column in columns:
                column["nullable"] = True
        return expected
