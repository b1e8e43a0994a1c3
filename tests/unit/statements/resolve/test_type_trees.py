"""Types as trees: every spelling that a column can have."""

from __future__ import annotations

import pytest

from rewriter.catalog.model.objects import Column
from rewriter.statements.resolve.type_trees import TypeTree, draw_schema, type_json, type_tree

INT, TEXT = TypeTree("int"), TypeTree("string")
EMPTY = TypeTree("struct")


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("int", INT),
        ("decimal(10,2)", TypeTree("decimal", (10, 2))),
        ("char(3)", TypeTree("char", (3,))),
        ("array<int>", TypeTree("array", (), (("element", INT),))),
        ("map<string,int>", TypeTree("map", (), (("key", TEXT), ("value", INT)))),
        ("struct<>", EMPTY),
        ("map<struct<>,struct<>>", TypeTree("map", (), (("key", EMPTY), ("value", EMPTY)))),
        ("array<array<struct<>>>", TypeTree("array", (), (("element", TypeTree("array", (), (("element", EMPTY),))),))),
        ("struct<a:int,`b``, >:`:string>", TypeTree("struct", (), (("a", INT), ("b`, >:", TEXT)))),
        (
            "struct<m:map<string,decimal(5,1)>,i:int>",
            TypeTree(
                "struct",
                (),
                (("m", TypeTree("map", (), (("key", TEXT), ("value", TypeTree("decimal", (5, 1)))))), ("i", INT)),
            ),
        ),
    ],
)
def test_the_tree_of_a_type(text: str, tree: TypeTree) -> None:
    assert type_tree(text) == tree
    assert type_json(tree)["name"] == tree.name
    assert draw_schema([Column("x", text)]).startswith("root\n |-- x: ")
