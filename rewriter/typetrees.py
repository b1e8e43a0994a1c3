"""Column types as trees: how Spark draws a schema, and how it writes a type as JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rewriter.catalog.models import Column

_TOKEN = re.compile(r"`(?:[^`]|``)*`|\w+|[<>(),:]")
#: What Spark calls a type in a drawn schema, where that is not its name in SQL.
_DRAWN = {"int": "integer", "bigint": "long", "smallint": "short", "tinyint": "byte"}


@dataclass(frozen=True)
class TypeTree:
    """A type: its name, its sizes (of decimal, char and varchar), and its parts, each with the name of a field.

    The parts of an array are its elements, those of a map keys and values.
    """

    name: str
    sizes: tuple[int, ...] = ()
    parts: tuple[tuple[str, TypeTree], ...] = ()


def type_tree(text: str) -> TypeTree:
    """The tree of a type in the spelling that the grammar gives it: ``array<struct<a:int>>``."""
    return _read(_TOKEN.findall(text)[::-1])


def _read(rest: list[str]) -> TypeTree:
    name = rest.pop()
    sizes: list[int] = []
    parts: list[tuple[str, TypeTree]] = []
    if rest and rest[-1] == "(":
        while rest.pop() != ")":
            sizes.append(int(rest.pop()))
    elif rest and rest[-1] == "<":
        rest.pop()
        while rest[-1] != ">":
            if parts:
                rest.pop()  # the comma
            field = _field(rest) if name == "struct" else ("element", "key", "value")[len(parts) + (name == "map")]
            parts.append((field, _read(rest)))
        rest.pop()
    return TypeTree(name, tuple(sizes), tuple(parts))


def _field(rest: list[str]) -> str:
    name, colon = rest.pop(), rest.pop()
    assert colon == ":"
    return name[1:-1].replace("``", "`") if name.startswith("`") else name


def drawn(columns: Sequence[Column]) -> str:
    """The schema as Spark draws it, line by line, each ended; every column may be NULL."""
    lines = ["root"]
    for column in columns:
        lines += _lines(column.name, type_tree(column.type), "nullable = true", " ")
    return "".join(line + "\n" for line in lines)


def _lines(name: str, tree: TypeTree, note: str, indent: str) -> Iterator[str]:
    sizes = f"({','.join(map(str, tree.sizes))})" if tree.sizes else ""
    yield f"{indent}|-- {name}: {_DRAWN.get(tree.name, tree.name)}{sizes}{f' ({note})' if note else ''}"
    notes = {"array": ("containsNull = true",), "map": ("", "valueContainsNull = true")}
    for place, (field, part) in enumerate(tree.parts):
        below = notes[tree.name][place] if tree.name in notes else "nullable = true"
        yield from _lines(field, part, below, indent + "|    ")


def type_json(tree: TypeTree) -> dict[str, object]:
    """The type as DESCRIBE … AS JSON has it."""
    parts = [type_json(part) for _, part in tree.parts]
    if tree.name == "array":
        return {"name": "array", "element_type": parts[0], "element_nullable": True}
    if tree.name == "map":
        return {"name": "map", "key_type": parts[0], "value_type": parts[1], "value_nullable": True}
    if tree.name == "struct":
        fields = [
            {"name": field, "type": part, "nullable": True} for (field, _), part in zip(tree.parts, parts, strict=True)
        ]
        return {"name": "struct", "fields": fields}
    if tree.name == "decimal":
        precision, scale = tree.sizes
        return {"name": "decimal", "precision": precision, "scale": scale}
    if tree.name in ("char", "varchar"):
        return {"name": tree.name, "length": tree.sizes[0]}
    return {"name": "timestamp_ltz" if tree.name == "timestamp" else tree.name}
