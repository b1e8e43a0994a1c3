"""What a text expects at the cursor, as values."""

from __future__ import annotations

from dataclasses import field

from rewriter.lazy_dataclass import dataclass

#: The kinds of objects.
KINDS = ("table", "view", "cube", "fact")


@dataclass(frozen=True)
class Relation:
    """What a FROM clause or a statement names.

    ``alias`` is the name that qualifies its columns. ``parts`` are its name in the catalog, empty for a subquery or a
    CTE; these have ``columns``, and the columns of ``sources`` where their query selects ``*``.
    """

    alias: str
    parts: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    sources: tuple[Relation, ...] = ()


@dataclass(frozen=True)
class Keywords:
    """Words of the language, in upper case."""

    words: tuple[str, ...]


@dataclass(frozen=True)
class Words:
    """Names that the text itself declares: of CTEs, aliases."""

    names: tuple[str, ...]
    meaning: str


@dataclass(frozen=True)
class Options:
    """Words that are written as they are, such as formats of output."""

    words: tuple[str, ...]
    meaning: str


@dataclass(frozen=True)
class Objects:
    """Objects of these kinds: ``table``, ``view``, ``cube``, ``fact``. ``database`` is the one typed in front."""

    kinds: tuple[str, ...]
    database: str | None = None


@dataclass(frozen=True)
class Databases:
    """Names of databases. ``qualifying`` ones are followed by a point."""

    qualifying: bool = False


@dataclass(frozen=True)
class ClusterNames:
    """Names of clusters."""


@dataclass(frozen=True)
class Columns:
    """Columns of relations, then columns of ``outer`` queries. ``partitions``: only partition columns, if there are
    any. ``times``: TIME columns of cubes before all others.
    """

    relations: tuple[Relation, ...]
    partitions: bool = False
    times: bool = False
    outer: tuple[Relation, ...] = ()


@dataclass(frozen=True)
class PartitionValues:
    """Values of a partition column of one of the relations.

    ``given`` are the values of other columns that the text fixes, as typed. ``typed_literal`` says that DATE or
    TIMESTAMP is in front of the string.
    """

    relations: tuple[Relation, ...]
    column: tuple[str, ...]
    given: tuple[tuple[str, str], ...] = ()
    typed_literal: bool = False


@dataclass(frozen=True)
class Functions:
    """Functions of the engine; ``called`` ones with an opening parenthesis."""

    called: bool = True


@dataclass(frozen=True)
class Settings:
    """Names of settings."""


@dataclass(frozen=True)
class SettingValues:
    """Values of a setting."""

    name: str


@dataclass(frozen=True)
class Commands:
    """Names of the shell's commands, with their backslash or point."""


@dataclass(frozen=True)
class Argument:
    """The argument of a command of the shell. ``database`` is the one typed in front."""

    command: str
    database: str | None = None


Expectation = (
    Keywords
    | Words
    | Objects
    | Options
    | Databases
    | ClusterNames
    | Columns
    | PartitionValues
    | Functions
    | Settings
    | SettingValues
    | Commands
    | Argument
)


@dataclass(frozen=True)
class Position:
    """What is expected at a cursor.

    ``start`` is the offset of the word that a completion replaces, ``typed`` its value so far, without ``quote``: a
    backquote, or the quote of a string; empty for a bare word. ``closed`` says that the closing quote already follows.
    ``expected`` are in order of likelihood. ``lower`` says that keywords are typed in lower case here.
    """

    start: int
    typed: str = ""
    quote: str = ""
    closed: bool = False
    expected: tuple[Expectation, ...] = field(default=())
    lower: bool = False
    in_query: bool = False
