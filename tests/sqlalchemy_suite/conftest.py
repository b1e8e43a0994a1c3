"""SQLAlchemy's own tests of dialects. ``tests/integrations/test_sqlalchemy_suite.py`` runs them in another process."""

import os
import re
from collections.abc import Mapping
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import registry

pytest.register_assert_rewrite("sqlalchemy.testing.assertions")
for _name in ("rewriter", "rewriter.rewriter"):
    registry.register(_name, "rewriter.integrations.sqlalchemy.dialect", "RewriterDialect")

from requirements import SKIPPED  # noqa: E402
from sqlalchemy.testing import provision  # noqa: E402
from sqlalchemy.testing.plugin.pytestplugin import *  # noqa: E402, F403
from sqlalchemy.testing.plugin.pytestplugin import pytest_collection_modifyitems as _collected  # noqa: E402

#: The name of the database, and the version, in the name of a class.
_DATABASE = re.compile(r"_rewriter\+rewriter_[0-9_]+")


def pytest_collection_modifyitems(session: Any, config: Any, items: list[pytest.Item]) -> None:
    _collected(session, config, items)
    for item in items:
        name = _DATABASE.sub("", item.nodeid.partition("::")[2])
        for beginning, reason in SKIPPED.items():
            rest = name.removeprefix(beginning)
            if rest != name and ("[" in beginning or rest[:1] in ("", "[", ":")):
                item.add_marker(pytest.mark.skip(reason=reason))


@provision.post_configure_engine.for_db("rewriter")
def _create_schemas(url: Any, engine: sa.Engine, follower: object) -> None:
    with engine.begin() as connection:
        for name in ("test_schema", "test_schema_2"):
            connection.execute(sa.schema.CreateSchema(name, if_not_exists=True))


@provision.temp_table_keyword_args.for_db("rewriter")
def _temporary_table(config: Any, engine: sa.Engine) -> Mapping[str, Any]:
    return {"prefixes": ["TEMPORARY"]}


@provision.set_default_schema_on_connection.for_db("rewriter")
def _use(config: Any, connection: Any, schema: str) -> None:
    connection.execute(f"USE {schema}")


@provision.update_db_opts.for_db("rewriter")
def _options(url: Any, options: dict[str, Any], _: object) -> None:
    if os.environ.get("REWRITER_TEST_AUTOCOMMIT"):
        options["isolation_level"] = "AUTOCOMMIT"
