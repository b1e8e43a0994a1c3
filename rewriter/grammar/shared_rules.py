"""The rules that the statements of several families share, and what builds their values: names, literals, columns,
clauses, partition specs.
"""

from __future__ import annotations

from rewriter.errors import ParseError, Span
from rewriter.grammar.datatypes import check_type_depth, scalar_type, struct_type
from rewriter.grammar.filters import Filter, check_depth
from rewriter.grammar.statement_parts import Clause, Terminal, from_to, refuse_duplicates, values_by_kind
from rewriter.grammar.statements import builds
from rewriter.grammar.terms import ColumnDef, ColumnName, DatabaseName, Literal, Name, PartitionItem

RULES = r"""
name: NAME ("." NAME)*
names: "(" NAME ("," NAME)* ")"
database_name: NAME ("." NAME)*
in_database: ("IN" | "FROM") database_name

if_exists: "IF" "EXISTS"
if_not_exists: "IF" "NOT" "EXISTS"
or_replace: "OR" "REPLACE"
temporary: "TEMPORARY" | "TEMP"
as_json: "AS" "JSON"

columns: "(" column ("," column)* ")"
column: NAME type _column_option*
_column_option: comment | column_default | not_null
not_null: NOT "NULL"
column_default: "DEFAULT" EXPRESSION
type: NAME                                              -> simple_type
    | NAME "(" NUMBER ("," NUMBER)* ")"                 -> sized_type
    | "ARRAY" "<" type ">"                              -> array_type
    | "MAP" "<" type "," type ">"                       -> map_type
    | "STRUCT" ("<" [field ("," field)*] ">" | "<>")    -> struct_type
field: NAME ":"? type

comment: COMMENT STRING
location: LOCATION STRING
properties: TBLPROPERTIES "(" property ("," property)* ")"
property: _property_key "="? _property_value
_property_key: STRING | property_path
property_path: NAME ("." NAME)*
_property_value: STRING | NUMBER | TRUE | FALSE

where: "WHERE" filter
partition_spec: "PARTITION" "(" partition_item ("," partition_item)* ")"
partition_item: NAME [_equals literal]
_equals: "=" | "=="

?bound: string | instant | constant
?literal: string | number | negative_number | null | boolean | instant | constant
string: STRING+
number: NUMBER
negative_number: MINUS NUMBER
null: NULL
boolean: TRUE | FALSE
instant: (DATE | TIMESTAMP) STRING
constant: CONSTANT

MINUS: "-"
DOT: "."
COMMA: ","
LPAR: "("
RPAR: ")"
EQUAL: "="
"""


# ---- names, and words that are there or not


@builds("name")
def name(*parts: Terminal) -> Name:
    return Name(tuple(part.name for part in parts), from_to(parts[0].span, parts[-1].span))


@builds("names")
def names(*names: Terminal) -> tuple[str, ...]:
    return tuple(name.name for name in names)


@builds("database_name")
def database_name(*parts: Terminal) -> DatabaseName:
    span = from_to(parts[0].span, parts[-1].span)
    names = [part.name for part in parts]
    if len(names) > 2 or (len(names) == 2 and names[0].lower() != "spark_catalog"):
        raise ParseError(
            f"'{'.'.join(names)}' is not a database name: there is only one catalog.",
            condition="REQUIRES_SINGLE_PART_NAMESPACE",
            sqlstate="42K05",
            position=span,
            object=".".join(names),
            hint=f"Write {names[-1]}, or spark_catalog.{names[-1]}.",
        )
    return DatabaseName(names[-1], span)


@builds("in_database")
def in_database(database: DatabaseName) -> DatabaseName:
    return database


@builds("if_exists", "if_not_exists", "or_replace", "temporary", "as_json")
def present() -> bool:
    return True


# ---- types and columns


@builds("columns")
def columns(*columns: ColumnDef) -> tuple[ColumnDef, ...]:
    return columns


@builds("column")
def column(name: Terminal, type_: str, *options: Clause) -> ColumnDef:
    check_type_depth(type_, name.span)
    kinds = [option.kind for option in options]
    repeated = next((option for index, option in enumerate(options) if option.kind in kinds[:index]), None)
    if repeated is not None:
        raise ParseError(
            f"The column {name.name} has {repeated.kind} twice.",
            condition="CREATE_TABLE_COLUMN_DESCRIPTOR_DUPLICATE",
            sqlstate="42710",
            position=repeated.span,
            object=name.name,
            hint="Leave one of them out.",
        )
    values = values_by_kind(options)
    text, span = values.get("DEFAULT", (None, name.span))
    not_null = next((option.span for option in options if option.kind == "NOT NULL"), None)
    return ColumnDef(
        name.name,
        type_,
        values.get("COMMENT"),
        name.span,
        text,
        span,
        not_null=not_null is not None,
        not_null_span=not_null or name.span,
    )


@builds("not_null")
def not_null(word: Terminal) -> Clause:
    return Clause("NOT NULL", True, word.span)


@builds("column_default")
def column_default(text: Terminal) -> Clause:
    return Clause("DEFAULT", (text.token.text, text.span), text.span)


@builds("simple_type")
def simple_type(name: Terminal) -> str:
    return scalar_type(name.name, (), name.span)


@builds("sized_type")
def sized_type(name: Terminal, *sizes: Terminal) -> str:
    span = from_to(name.span, sizes[-1].span)
    return scalar_type(name.name, [size.token.text for size in sizes], span)


@builds("array_type")
def array_type(element: str) -> str:
    return f"array<{element}>"


@builds("map_type")
def map_type(key: str, value: str) -> str:
    return f"map<{key},{value}>"


@builds("struct_type")
def type_of_fields(*fields: tuple[str, str] | None) -> str:
    return struct_type([field for field in fields if field])


@builds("field")
def field(name: Terminal, type_: str) -> tuple[str, str]:
    return name.name, type_


# ---- clauses


@builds("comment")
def comment(word: Terminal, text: Terminal) -> Clause:
    return Clause("COMMENT", text.string, word.span)


@builds("location")
def location(word: Terminal, text: Terminal) -> Clause:
    return Clause("LOCATION", text.string, word.span)


@builds("properties")
def properties(word: Terminal, *properties: tuple[tuple[str, str], Span]) -> Clause:
    refuse_duplicates([(key, span) for (key, _), span in properties], str)
    return Clause("TBLPROPERTIES", properties, word.span)


@builds("property")
def property_pair(key: Terminal | ColumnName, value: Terminal) -> tuple[tuple[str, str], Span]:
    text = value.string if value.type == "STRING" else value.token.text
    return (property_key(key), text.lower() if value.type in ("TRUE", "FALSE") else text), key.span


@builds("property_path")
def property_path(*parts: Terminal) -> ColumnName:
    return ColumnName(tuple(part.name for part in parts), from_to(parts[0].span, parts[-1].span))


def property_key(key: Terminal | ColumnName) -> str:
    """Returns the text of a ``_property_key``."""
    return ".".join(key.parts) if isinstance(key, ColumnName) else key.string


# ---- partitions


@builds("where")
def where(tree: Filter) -> Filter:
    check_depth(tree)
    return tree


@builds("partition_spec")
def partition_spec(*items: PartitionItem) -> tuple[PartitionItem, ...]:
    refuse_duplicates([(item.column, item.span) for item in items], str.lower)
    return items


@builds("partition_item")
def partition_item(column: Terminal, value: Literal | None) -> PartitionItem:
    span = from_to(column.span, value.span) if value else column.span
    return PartitionItem(column.name, value, span)


# ---- literals


@builds("string")
def string(*parts: Terminal) -> Literal:
    span = from_to(parts[0].span, parts[-1].span)
    return Literal("string", "".join(part.string for part in parts), span)


@builds("number")
def number_literal(number: Terminal) -> Literal:
    return Literal("number", number.token.text, number.span)


@builds("negative_number")
def negative_number(minus: Terminal, number: Terminal) -> Literal:
    return Literal("number", f"-{number.token.text}", from_to(minus.span, number.span))


@builds("null")
def null(word: Terminal) -> Literal:
    return Literal("null", "", word.span)


@builds("boolean")
def boolean(word: Terminal) -> Literal:
    return Literal("boolean", word.word.lower(), word.span)


@builds("instant")
def instant(kind: Terminal, text: Terminal) -> Literal:
    return Literal(kind.word.lower(), text.string, from_to(kind.span, text.span))


@builds("constant")
def constant(expression: Terminal) -> Literal:
    return Literal("constant", expression.token.text, expression.span)
