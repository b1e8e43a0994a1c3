"""Column types as trees, Spark's drawing of a schema, and Spark's JSON form of a type."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rewriter.grammar.datatypes import MAX_DEPTH, type_depth
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Column

_TOKEN = re.compile(r"`(?:[^`]|``)*`|\w+|[<>(),:]")
#: The names of types in a schema that Spark draws, where they differ from those in SQL.
_DRAWN = {"int": "integer", "bigint": "long", "smallint": "short", "tinyint": "byte"}


@dataclass(frozen=True)
class TypeTree:
    """A type: its name, its sizes (of decimal, char and varchar), and its parts, each with the name of a field.

    The parts of an array are its elements, the parts of a map are keys and values.
    """

    name: str
    sizes: tuple[int, ...] = ()
    parts: tuple[tuple[str, TypeTree], ...] = ()


def type_tree(text: str) -> TypeTree:
    """Returns the tree of a type in the spelling of the grammar: ``array<struct<a:int>>``.

    A catalog may hold a type that is spelled differently, or nests deeper than the grammar allows: it becomes one
    name.
    """
    if type_depth(text) > MAX_DEPTH:
        return TypeTree(text)
    tokens = _TOKEN.findall(text)[::-1]
    try:
        tree = _read_tree(tokens)
    except (IndexError, ValueError):
        return TypeTree(text)
    return tree if not tokens and all(map(_is_whole, _subtrees(tree))) else TypeTree(text)


#: The number of sizes and parts of a type, where not none; a struct has any number of parts.
_SIZES = {"decimal": 2, "char": 1, "varchar": 1}
_PARTS = {"array": 1, "map": 2}


def _is_whole(tree: TypeTree) -> bool:
    parts = len(tree.parts) if tree.name == "struct" else _PARTS.get(tree.name, 0)
    return (len(tree.sizes), len(tree.parts)) == (_SIZES.get(tree.name, 0), parts)


def _subtrees(tree: TypeTree) -> Iterator[TypeTree]:
    yield tree
    for _, part in tree.parts:
        yield from _subtrees(part)


def repeated_field(tree: TypeTree) -> str | None:
    """Returns the first field of a struct in a type whose name differs from an earlier one in case at most; ``None`` if
    there is none. No engine can read such a struct by name.

    >>> repeated_field(type_tree("array<struct<a:int,A:int>>")), repeated_field(type_tree("struct<a:int,b:int>"))
    ('A', None)
    """
    for subtree in _subtrees(tree):
        names: set[str] = set()
        for field, _ in subtree.parts:
            if field.lower() in names:
                return field
            names.add(field.lower())
    return None


def _read_tree(tokens: list[str]) -> TypeTree:
    name = tokens.pop()
    sizes: list[int] = []
    parts: list[tuple[str, TypeTree]] = []
    if tokens and tokens[-1] == "(":
        while tokens.pop() != ")":
            sizes.append(int(tokens.pop()))
    elif tokens and tokens[-1] == "<":
        tokens.pop()
        while tokens[-1] != ">":
            if parts:
                tokens.pop()  # the comma
            field = _field(tokens) if name == "struct" else ("element", "key", "value")[len(parts) + (name == "map")]
            parts.append((field, _read_tree(tokens)))
        tokens.pop()
    return TypeTree(name, tuple(sizes), tuple(parts))


def _field(tokens: list[str]) -> str:
    name, colon = tokens.pop(), tokens.pop()
    if colon != ":":
        raise ValueError(f"{colon} is in the position of a field's colon")
    return name[1:-1].replace("``", "`") if name.startswith("`") else name


def draw_schema(columns: Sequence[Column]) -> str:
    """Returns the schema as Spark draws it, each line with its line break; every column may be NULL."""
    lines = ["root"]
    for column in columns:
        lines += _lines(column.name, type_tree(column.type), "nullable = true", " ")
    return "".join(line + "\n" for line in lines)


def _lines(name: str, tree: TypeTree, note: str, indent: str) -> Iterator[str]:
    sizes = f"({','.join(map(str, tree.sizes))})" if tree.sizes else ""
    yield f"{indent}|-- {name}: {_DRAWN.get(tree.name, tree.name)}{sizes}{f' ({note})' if note else ''}"
    notes = {"array": ("containsNull = true",), "map": ("", "valueContainsNull = true")}
    for index, (field, part) in enumerate(tree.parts):
        nullability = notes[tree.name][index] if tree.name in notes else "nullable = true"
        yield from _lines(field, part, nullability, indent + "|    ")


def type_json(tree: TypeTree) -> dict[str, object]:
    """Returns the type as in DESCRIBE … AS JSON."""
    parts = [type_json(part) for _, part in tree.parts]
    if tree.name == "array" and parts:
        return {"name": "array", "element_type": parts[0], "element_nullable": True}
    if tree.name == "map" and parts:
        return {"name": "map", "key_type": parts[0], "value_type": parts[1], "value_nullable": True}
    if tree.name == "struct":
        fields = [
            {"name": field, "type": part, "nullable": True} for (field, _), part in zip(tree.parts, parts, strict=True)
        ]
        return {"name": "struct", "fields": fields}
    if tree.name == "decimal" and tree.sizes:
        precision, scale = tree.sizes
        return {"name": "decimal", "precision": precision, "scale": scale}
    if tree.name in ("char", "varchar") and tree.sizes:
        return {"name": tree.name, "length": tree.sizes[0]}
    return {"name": "timestamp_ltz" if tree.name == "timestamp" else tree.name}
