"""docs/reference/catalog-schema.md describes each table, column, event and version of the catalog's database."""

from pathlib import Path

import pytest
from documents import dead_links

from rewriter.catalog.store import migrations, schema
from tests.catalog_schema_page import description, event_kinds, page
from tests.catalog_schema_texts import COLUMNS, COMMON, EVENTS, GROUPS, INSTEAD, TABLES

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "catalog-schema.md"


def test_the_page_is_that_of_the_schema(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--rewrite"):
        PAGE.write_text(page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page(), "run: pytest …/test_catalog_schema_page.py --rewrite"
    assert dead_links(PAGE) == []


def test_each_table_is_in_one_group_and_has_a_description() -> None:
    tables = set(schema.metadata.tables)
    assert sorted(name for names in GROUPS.values() for name in names) == sorted(tables) == sorted(TABLES)
    assert INSTEAD.keys() <= tables


def test_each_column_has_a_description_and_each_description_a_column() -> None:
    for name, table in schema.metadata.tables.items():
        assert [column.name for column in table.c if not description(name, column.name)] == []
        assert COLUMNS.get(name, {}).keys() <= set(table.c.keys())
    used = {column.name for table in schema.metadata.tables.values() for column in table.c}
    assert COMMON.keys() <= used
    assert COLUMNS.keys() <= schema.metadata.tables.keys()


def test_each_kind_of_event_has_a_description() -> None:
    assert event_kinds().keys() == EVENTS.keys()
    assert len(event_kinds()) > 30


def test_each_step_says_what_it_does() -> None:
    assert [step.__name__ for step in migrations.STEPS if not step.__doc__] == []
