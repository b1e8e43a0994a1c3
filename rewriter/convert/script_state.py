"""What a conversion knows at a statement of a script: the tables and settings of the statements before it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING

from rewriter.convert.column_types import base_type
from rewriter.convert.time_patterns import POLICY
from rewriter.errors import Error
from rewriter.grammar.families.settings import SetSetting
from rewriter.grammar.lexer import Token, identifier_value
from rewriter.grammar.parser import parse
from rewriter.lazy_dataclass import dataclass
from rewriter.runtime.settings import SessionSettings
from rewriter.runtime.text_variables import mask_references

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
    with USING: Spark then overwrites the whole table by default. ``declared`` are the whole types of a table's columns,
    as far as they are declared.
    """

    types: Mapping[str, str | None]
    names: tuple[str, ...] | None
    partitioned_by: tuple[str, ...] = ()
    is_of_spark: bool = False
    declared: Mapping[str, str] = field(default_factory=dict)


@dataclass
class ScriptState:
    """The script, and what its statements so far have changed.

    ``is_lenient`` says that errors of casts, arithmetic and calls are NULL. ``overwrite_mode`` is the mode that the
    script has set, if it has. ``has_legacy_patterns`` says that the script reads times by the policy LEGACY.
    """

    text: str
    is_lenient_by_default: bool
    is_hive: bool
    stored: Mapping[str, KnownTable] = field(default_factory=dict)
    tables: dict[str, KnownTable] = field(default_factory=dict)
    functions: set[str] = field(default_factory=set)
    overwrite_mode: str | None = None
    is_last: bool = False
    settings: SessionSettings = field(default_factory=SessionSettings)
    is_lenient: bool = False
    has_legacy_patterns: bool = False

    def __post_init__(self) -> None:
        self.is_lenient = self.is_lenient_by_default
        self.tables = dict(self.stored)

    def setting(self, statement: str) -> SetSetting | None:
        """Returns the statement SET that a text is."""
        try:
            parsed = parse(mask_references(statement))
        except Error:
            return None
        return parsed if isinstance(parsed, SetSetting) else None

    def table(self, name: Sequence[Token]) -> KnownTable | None:
        """Returns the table of a name, the tokens of which may have dots between them."""
        return self.tables.get(dotted_name(identifier_value(token) for token in name if not token.is_operator(".")))

    def use_database(self) -> None:
        """Forgets the tables that the script has created in the database that was the current one."""
        kept = {name: table for name, table in self.tables.items() if "." in name}
        self.tables = {**dict(self.stored), **kept}

    def reset(self, key: str | None) -> None:
        """Takes the defaults of a setting, or of all."""
        if key is None or key.lower() in OVERWRITE_MODES:
            self.overwrite_mode = None
        if key is None or key.lower() == ANSI:
            self.is_lenient = self.is_lenient_by_default
        if key is None or key.lower() == POLICY:
            self.has_legacy_patterns = False


def dotted_name(parts: Iterable[str]) -> str:
    """Returns a name as the keys of tables have it: in lower case, with dots."""
    return ".".join(parts).lower()


def known_table(columns: Mapping[str, str], partitioned_by: tuple[str, ...], is_of_spark: bool) -> KnownTable:
    """Returns a table of columns with their declared types, those of partitions among them."""
    names = tuple(name.lower() for name in columns)
    types = {name.lower(): base_type(type_) for name, type_ in columns.items()}
    lowered = tuple(name.lower() for name in partitioned_by)
    declared = {name.lower(): type_ for name, type_ in columns.items()}
    return KnownTable(types, (*(n for n in names if n not in lowered), *lowered), lowered, is_of_spark, declared)


def warehouse_tables(catalog: Catalog) -> dict[str, KnownTable]:
    """Returns the tables of the catalog by their names, in lower case, with and without the database.

    Without it, tables of several databases that have the same name are left out: which is meant is not certain.
    """
    named: dict[str, KnownTable] = {}
    tables = catalog.snapshot().tables()
    counts = Counter(table.name.rpartition(".")[2].lower() for table in tables)
    for table in tables:
        database, _, last = table.name.lower().rpartition(".")
        columns = {column.name: column.type for column in table.all_columns}
        parts = tuple(column.name for column in table.partition_columns)
        known = known_table(columns, parts, is_of_spark=False)
        has_hidden = any(column.transform is not None for column in table.partition_columns)
        named[dotted_name((database or "default", last))] = replace(known, names=None) if has_hidden else known
        if counts[last] == 1:
            named[last] = named[dotted_name((database or "default", last))]
    return named
