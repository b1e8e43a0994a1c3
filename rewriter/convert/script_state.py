"""What a conversion knows at a statement of a script: the tables and settings of the statements before it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from rewriter.convert.column_types import base_type
from rewriter.errors import Error
from rewriter.grammar.families.settings import SetSetting
from rewriter.grammar.lexer import Token, identifier_value
from rewriter.grammar.parser import parse
from rewriter.lazy_dataclass import dataclass
from rewriter.runtime.settings import SessionSettings
from rewriter.shell.script import mask_references

if TYPE_CHECKING:
    from rewriter.catalog.catalog import Catalog

ANSI = "spark.sql.ansi.enabled"
OVERWRITE_MODES = ("spark.sql.sources.partitionoverwritemode", "rewriter.partition_overwrite_mode")


@dataclass(frozen=True)
class ConversionProblem:
    """Why a statement, or an expression of it, was not converted, and what a person can do."""

    reason: str
    hint: str = ""


@dataclass(frozen=True)
class KnownTable:
    """A table, or a view, with the types of its columns: ``None`` where they are not certain.

    ``names`` are its columns in their order, ``None`` if they are not known. ``is_of_spark`` says that it was created
    with USING: Spark then overwrites the whole table by default.
    """

    types: Mapping[str, str | None]
    names: tuple[str, ...] | None
    partitioned_by: tuple[str, ...] = ()
    is_of_spark: bool = False


@dataclass
class ScriptState:
    """The script, and what its statements so far have changed.

    ``is_lenient`` says that errors of casts, arithmetic and calls are NULL. ``overwrite_mode`` is the mode that the
    script has set, if it has.
    """

    text: str
    is_lenient_by_default: bool
    is_hive: bool
    tables: dict[str, KnownTable] = field(default_factory=dict)
    functions: set[str] = field(default_factory=set)
    overwrite_mode: str | None = None
    is_last: bool = False
    settings: SessionSettings = field(default_factory=SessionSettings)
    is_lenient: bool = False

    def __post_init__(self) -> None:
        self.is_lenient = self.is_lenient_by_default

    def setting(self, statement: str) -> SetSetting | None:
        """Returns the statement SET that a text is."""
        try:
            parsed = parse(mask_references(statement))
        except Error:
            return None
        return parsed if isinstance(parsed, SetSetting) else None

    def table(self, name: Token) -> KnownTable | None:
        return self.tables.get(identifier_value(name).lower())

    def reset(self, key: str | None) -> None:
        """Takes the defaults of a setting, or of all."""
        if key is None or key.lower() in OVERWRITE_MODES:
            self.overwrite_mode = None
        if key is None or key.lower() == ANSI:
            self.is_lenient = self.is_lenient_by_default


def known_table(columns: Mapping[str, str], partitioned_by: tuple[str, ...], is_of_spark: bool) -> KnownTable:
    """Returns a table of columns with their declared types, those of partitions among them."""
    names = tuple(name.lower() for name in columns)
    types = {name.lower(): base_type(type_) for name, type_ in columns.items()}
    lowered = tuple(name.lower() for name in partitioned_by)
    return KnownTable(types, (*(n for n in names if n not in lowered), *lowered), lowered, is_of_spark)


def warehouse_tables(catalog: Catalog) -> dict[str, KnownTable]:
    """Returns the tables of the catalog by their last names, in lower case. Tables of several databases that have the
    same name are left out: which of them a script means is not certain.
    """
    tables = catalog.snapshot().tables()
    counts = Counter(table.name.rpartition(".")[2].lower() for table in tables)
    return {
        name: known_table(
            {column.name: column.type for column in table.all_columns},
            tuple(column.name for column in table.partition_columns),
            is_of_spark=False,
        )
        for table in tables
        if counts[name := table.name.rpartition(".")[2].lower()] == 1
    }
