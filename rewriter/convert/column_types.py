"""The types of expressions, as far as they follow from tables whose columns are known.

A type is that of Spark without ANSI mode, in lower case (``decimal`` without its digits), or ``None`` if it is not
certain.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from rewriter.convert.expressions import COMPARING, Expression, ExpressionForm
from rewriter.convert.query_blocks import BlockRelation, ListedItem, QueryBlock, QueryBlocks
from rewriter.grammar.lexer import Token, TokenKind, identifier_value
from rewriter.lazy_dataclass import dataclass

#: The types of the columns of tables, both in lower case, by the table's last name.
TableColumns = Mapping[str, Mapping[str, str | None]]

STRING, DATE, TIMESTAMP, BOOLEAN, NULL = "string", "date", "timestamp", "boolean", "void"
INTEGERS = ("tinyint", "smallint", "int", "bigint")
NUMBERS = (*INTEGERS, "decimal", "float", "double")
_SYNONYMS = {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint", "real": "float",
             "numeric": "decimal", "dec": "decimal", "char": STRING, "varchar": STRING, "character": STRING,
             "timestamp_ltz": TIMESTAMP}  # fmt: skip
#: The functions of one type.
_RETURNED = {
    name: type_
    for type_, names in {
        STRING: "concat concat_ws substr substring left right upper lower ucase lcase trim ltrim rtrim lpad rpad "
        "repeat replace translate reverse regexp_replace regexp_extract substring_index initcap "
        "get_json_object parse_url from_unixtime date_format md5 sha sha1 sha2 base64 hex string "
        "format_string printf format_number space current_database current_user split_part",
        "int": "length char_length character_length instr locate position ascii year month day dayofmonth dayofweek "
        "dayofyear weekofyear quarter hour minute second datediff size int row_number rank dense_rank ntile crc32 "
        "levenshtein",
        "bigint": "count count_if unix_timestamp to_unix_timestamp bigint approx_count_distinct xxhash64 floor ceil "
        "ceiling",
        "double": "double sqrt exp ln log log10 log2 pow power rand random stddev stddev_pop stddev_samp variance "
        "var_pop var_samp corr percentile months_between try_divide sin cos tan degrees radians percent_rank "
        "cume_dist",
        DATE: "to_date try_to_date date date_add date_sub add_months last_day next_day trunc current_date make_date",
        TIMESTAMP: "to_timestamp try_to_timestamp timestamp current_timestamp now date_trunc from_utc_timestamp "
        "to_utc_timestamp",
        BOOLEAN: "boolean isnull isnotnull array_contains startswith endswith contains rlike regexp_like isnan",
        "array<string>": "split sentences",
        "decimal": "decimal",
        "float": "float",
        "smallint": "smallint",
        "tinyint": "tinyint",
    }.items()
    for name in names.split()
}
#: The functions whose type is the common one of some arguments: the indexes of these (``None`` is all).
_OF_ARGUMENTS: Mapping[str, slice] = {
    **dict.fromkeys(("max", "min", "first", "last", "first_value", "last_value", "any_value", "lag", "lead", "abs",
                     "nullif", "round", "distinct"), slice(0, 1)),
    **dict.fromkeys(("coalesce", "nvl", "ifnull", "greatest", "least"), slice(None)),
    **dict.fromkeys(("if", "iff", "nvl2"), slice(1, None)),
}  # fmt: skip


def base_type(type_name: str) -> str:
    """Returns a type without digits, by Spark's name.

    >>> base_type("DECIMAL(10,2)"), base_type("varchar(5)"), base_type("array<int>")
    ('decimal', 'string', 'array<int>')
    """
    lowered = re.sub(r"\s", "", type_name.lower())
    word = lowered if "<" in lowered else lowered.partition("(")[0]
    return _SYNONYMS.get(word, word)


def _common_type(types: Sequence[str | None]) -> str | None:
    """Returns the type of values of these types in one column, such as the results of a CASE, without ANSI mode."""
    certain = {type_ for type_ in types if type_ != NULL}
    if None in certain:
        return None
    if len(certain) <= 1:
        return next(iter(certain), NULL)
    if certain <= set(NUMBERS):
        if "float" in certain and certain <= {"float", *INTEGERS}:
            return "float"
        if "double" in certain or "float" in certain:
            return "double"
        return "decimal" if "decimal" in certain else max((t for t in certain if t is not None), key=INTEGERS.index)
    if STRING in certain and BOOLEAN not in certain and all("<" not in str(t) for t in certain):
        return STRING
    return TIMESTAMP if certain == {DATE, TIMESTAMP} else None


@dataclass(frozen=True)
class BlockColumn:
    """A column that a block returns: its name and its type, each ``None`` if not certain, and its expression, ``None``
    where the column is that of a star or of another block.
    """

    name: str | None
    type: str | None
    expression: Expression | None = None


class ExpressionTypes:
    """The types of the expressions of one statement. A name is a column of what its SELECT reads."""

    def __init__(self, tokens: Sequence[Token], roots: Sequence[Expression], tables: TableColumns) -> None:
        self._tokens, self._tables = tokens, tables
        self.blocks = QueryBlocks(tokens, roots)
        self._cached: dict[int, str | None] = {}
        self._returned: dict[int, Sequence[BlockColumn] | None] = {}
        self._hidden = self._lambda_names()

    def _lambda_names(self) -> frozenset[str]:
        names = set()
        for index, token in enumerate(self._tokens):
            if token.is_operator("->") and index:
                back = index - 1
                if self._tokens[back].is_operator(")"):
                    while back and not self._tokens[back].is_operator("("):
                        back -= 1
                names |= {identifier_value(t).lower() for t in self._tokens[back:index] if t.kind is TokenKind.WORD}
        return frozenset(names)

    def columns(self) -> Mapping[str, str | None] | None:
        """Returns the columns that the statement returns, in order; ``None`` if a name is not certain."""
        return self._columns_by_name(self.blocks.whole)

    def _columns_by_name(self, block: QueryBlock) -> Mapping[str, str | None] | None:
        columns = self.columns_of(block) or ()
        types = {column.name: column.type for column in columns if column.name is not None}
        return types if types and len(types) == len(columns) else None

    def columns_of(self, block: QueryBlock) -> Sequence[BlockColumn] | None:
        """Returns the columns that a block returns, in order; ``None`` if it is not certain how many they are."""
        key = id(block)
        if key not in self._returned:
            self._returned[key] = None
            if block.branches:
                self._returned[key] = self._united([self.columns_of(branch) for branch in block.branches])
            elif len(block.selects) == 1:
                self._returned[key] = self._selected(block, block.selects[0])
            elif not block.selects and block.nested is not None:
                columns = self.columns_of(block.nested)
                self._returned[key] = columns and [BlockColumn(column.name, column.type) for column in columns]
        return self._returned[key]

    @staticmethod
    def _united(branches: Sequence[Sequence[BlockColumn] | None]) -> Sequence[BlockColumn] | None:
        """Returns the columns of a set operation: they have the names of the first branch."""
        certain = [columns for columns in branches if columns is not None]
        if len({len(columns) for columns in certain}) != 1 or len(certain) != len(branches):
            return None
        by_column = zip(*certain, strict=True)
        return [
            BlockColumn(columns[0].name, _common_type([column.type for column in columns])) for columns in by_column
        ]

    def _selected(self, block: QueryBlock, items: Sequence[ListedItem]) -> Sequence[BlockColumn] | None:
        columns: list[BlockColumn] = []
        for item in items:
            if item.is_several:
                return None
            if not item.is_star:
                type_ = None if item.expression is None else self.type_of(item.expression)
                columns.append(BlockColumn(item.name, type_, item.expression))
                continue
            for relation in block.relations:
                read = self.relation_columns(relation)
                if read is None or read.keys() & {column.name for column in columns}:
                    return None
                columns += [BlockColumn(name, type_) for name, type_ in read.items()]
        return columns

    def relation_columns(self, relation: BlockRelation) -> Mapping[str, str | None] | None:
        """Returns the columns of a relation; ``None`` if they are not known."""
        if relation.generated:
            return self._generated(relation)
        if relation.is_renamed:
            return None
        if relation.block is not None:
            return self._columns_by_name(relation.block)
        return None if relation.name is None else self._tables.get(relation.name)

    def _generated(self, relation: BlockRelation) -> Mapping[str, str | None]:
        call = relation.generator
        type_ = None
        if call is not None and call.word in ("explode", "explode_outer") and len(call.operands) == 1:
            array = self.type_of(call.operands[0])
            type_ = array[6:-1] if array is not None and array.startswith("array<") else None
        elif call is not None and call.word == "json_tuple":
            type_ = STRING
        return dict.fromkeys(relation.generated, type_)

    def type_of(self, expression: Expression) -> str | None:
        """Returns the type of an expression; ``None`` if it is not certain."""
        key = id(expression)
        if key not in self._cached:
            self._cached[key] = None
            self._cached[key] = self._type(expression)
        return self._cached[key]

    def _type(self, expression: Expression) -> str | None:
        operands = expression.operands
        match expression.form:
            case ExpressionForm.LITERAL:
                return self._literal(expression)
            case ExpressionForm.NAME:
                return self._column(expression)
            case ExpressionForm.CAST:
                return base_type(expression.word)
            case ExpressionForm.GROUP | ExpressionForm.SIGN:
                type_ = self.type_of(operands[0])
                return "double" if type_ == STRING and expression.form is ExpressionForm.SIGN else type_
            case ExpressionForm.CASE:
                return _common_type([self.type_of(operand) for operand in operands])
            case ExpressionForm.IN | ExpressionForm.BETWEEN:
                return BOOLEAN
            case ExpressionForm.INDEX:
                base = self.type_of(operands[0])
                return base[6:-1] if base is not None and base.startswith("array<") else None
            case ExpressionForm.OPERATION:
                return self._operation(expression)
            case ExpressionForm.CALL:
                return self._call(expression)
            case ExpressionForm.OTHER:
                return self._scalar_subquery(expression)

    def _scalar_subquery(self, expression: Expression) -> str | None:
        block = self.blocks.at(expression.first)
        if block is None or block.end != expression.last:
            return None
        items = [item for select in block.selects for item in select]
        value = items[0].expression if len(block.selects) == len(items) == 1 else None
        return None if value is None else self.type_of(value)

    def _literal(self, expression: Expression) -> str | None:
        token = self._tokens[expression.first]
        if token.kind is TokenKind.STRING:
            return STRING
        if token.kind is TokenKind.WORD:
            types = {"NULL": NULL, "TRUE": BOOLEAN, "FALSE": BOOLEAN, "DATE": DATE, "TIMESTAMP": TIMESTAMP}
            return types.get(expression.word)
        suffixes = {"l": "bigint", "s": "smallint", "y": "tinyint", "d": "double", "f": "float"}
        lowered = token.text.lower()
        if lowered.endswith("bd"):
            return "decimal"
        if lowered[-1] in suffixes:
            return suffixes[lowered[-1]]
        if "e" in lowered:
            return "double"
        return "decimal" if "." in lowered else "int" if int(lowered) < 2**31 else "bigint"

    def _column(self, expression: Expression) -> str | None:
        name = expression.names[-1]
        if len(expression.names) == 1 and name in ("current_date", "current_timestamp"):
            return DATE if name == "current_date" else TIMESTAMP
        if name in self._hidden:
            return None
        block: QueryBlock | None = self.blocks.around(expression.first)
        while block is not None:
            relations = [self.relation_columns(relation) for relation in block.relations]
            if any(relation is None for relation in relations):
                return None
            types = {relation[name] for relation in relations if relation is not None and name in relation}
            if len(expression.names) > 1 and any(expression.names[-2] in (relation or ()) for relation in relations):
                return None  # Perhaps a field of a struct.
            if name in block.aliases and (not types or block.is_by_alias(expression.first)):
                alias = block.aliases[name]
                types.add(None if alias is None else self.type_of(alias))
            if types:
                return types.pop() if len(types) == 1 else None
            block = block.outer
        return None

    def _operation(self, expression: Expression) -> str | None:
        operator = expression.word
        if operator in COMPARING:
            return BOOLEAN
        types = [self.type_of(operand) for operand in expression.operands]
        if operator == "||":
            return STRING if all(t is not None and "<" not in t for t in types) else None
        if any(type_ is None for type_ in types):
            return None
        if operator in ("+", "-", "*", "/", "%"):
            types = ["double" if type_ == STRING else type_ for type_ in types]
            type_ = _common_type(types) if set(types) <= {*NUMBERS, NULL} else None
            if operator == "/" and type_ is not None:
                return "decimal" if type_ == "decimal" else "double"
            return type_
        return "bigint" if operator == "DIV" else _common_type(types)

    def _call(self, expression: Expression) -> str | None:
        name, arguments = expression.word, expression.operands
        if name in _RETURNED:
            is_open = name in ("concat", "reverse", "floor", "ceil", "ceiling", "abs")
            if is_open and any(self.type_of(argument) is None for argument in arguments):
                return None
            if name in ("floor", "ceil", "ceiling") and [self.type_of(a) for a in arguments] == ["decimal"]:
                return "decimal"
            if name == "concat" and any("<" in str(self.type_of(argument)) for argument in arguments):
                return None
            return _RETURNED[name]
        if name == "array" and arguments:
            element = _common_type([self.type_of(argument) for argument in arguments])
            return None if element is None else f"array<{element}>"
        if name in _OF_ARGUMENTS:
            return _common_type([self.type_of(argument) for argument in arguments[_OF_ARGUMENTS[name]]])
        if name in ("sum", "avg", "mean") and len(arguments) == 1:
            type_ = self.type_of(arguments[0])
            if type_ in (STRING, "float", "double"):
                return "double"
            if type_ in INTEGERS:
                return "bigint" if name == "sum" else "double"
            return type_ if type_ == "decimal" else None
        return None
