"""Databases: CREATE, DROP, SHOW, DESCRIBE, USE."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rewriter.grammar.shared_rules import properties as properties_clause
from rewriter.grammar.statement_parts import Clause, Terminal, values_by_kind
from rewriter.grammar.statements import Statement, builds, renders
from rewriter.grammar.unparse import database_text, option, properties_text, words
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from rewriter.errors import Span
    from rewriter.grammar.terms import DatabaseName

RULES = r"""
?statement: create_database | drop_database | show_databases | describe_database | use_database

create_database: "CREATE" _database [if_not_exists] database_name _database_clause*
_database: "DATABASE" | "SCHEMA" | "NAMESPACE"
_database_clause: comment | location | database_properties
database_properties: "WITH" DBPROPERTIES "(" property ("," property)* ")"
drop_database: "DROP" _database [if_exists] database_name [RESTRICT | CASCADE]
show_databases: "SHOW" ("DATABASES" | "SCHEMAS" | "NAMESPACES") ["LIKE"? STRING] -> show_databases
              | "SHOW" "CURRENT" _database                                       -> show_current_database
describe_database: ("DESC" | "DESCRIBE") _database EXTENDED? database_name
use_database: "USE" _database? database_name
"""


@dataclass(frozen=True, kw_only=True)
class CreateDatabase(Statement):
    database: DatabaseName
    if_not_exists: bool = False
    comment: str | None = None
    location: str | None = None
    properties: tuple[tuple[str, str], ...] = ()


@builds("create_database")
def create_database(if_not_exists: bool | None, database: DatabaseName, *clauses: Clause) -> CreateDatabase:
    values = values_by_kind(clauses)
    return CreateDatabase(
        database=database,
        if_not_exists=bool(if_not_exists),
        comment=values.get("COMMENT"),
        location=values.get("LOCATION"),
        properties=tuple(pair for pair, _ in values.get("DBPROPERTIES", ())),
    )


@builds("database_properties")
def database_properties(word: Terminal, *properties: tuple[tuple[str, str], Span]) -> Clause:
    return properties_clause(word, *properties)._replace(kind="DBPROPERTIES")


@renders(CreateDatabase)
def create_database_text(s: CreateDatabase) -> str:
    properties = properties_text(s.properties)
    return words(
        "CREATE DATABASE",
        "IF NOT EXISTS" if s.if_not_exists else None,
        database_text(s.database),
        option("COMMENT", s.comment),
        option("LOCATION", s.location),
        f"WITH DB{properties.removeprefix('TBL')}" if properties is not None else None,
    )


@dataclass(frozen=True, kw_only=True)
class DropDatabase(Statement):
    database: DatabaseName
    if_exists: bool = False
    cascade: bool = False


@builds("drop_database")
def drop_database(if_exists: bool | None, database: DatabaseName, how: Terminal | None) -> DropDatabase:
    cascade = how is not None and how.type == "CASCADE"
    return DropDatabase(database=database, if_exists=bool(if_exists), cascade=cascade)


@renders(DropDatabase)
def drop_database_text(s: DropDatabase) -> str:
    return words(
        "DROP DATABASE",
        "IF EXISTS" if s.if_exists else None,
        database_text(s.database),
        "CASCADE" if s.cascade else None,
    )


@dataclass(frozen=True, kw_only=True)
class ShowDatabases(Statement):
    """``SHOW DATABASES [LIKE 'pattern']``, or, with ``current``, ``SHOW CURRENT DATABASE``."""

    like: str | None = None
    current: bool = False


@builds("show_databases")
def show_databases(pattern: Terminal | None) -> ShowDatabases:
    return ShowDatabases(like=pattern.string if pattern else None)


@builds("show_current_database")
def show_current_database() -> ShowDatabases:
    return ShowDatabases(current=True)


@renders(ShowDatabases)
def show_databases_text(s: ShowDatabases) -> str:
    return "SHOW CURRENT DATABASE" if s.current else words("SHOW DATABASES", option("LIKE", s.like))


@dataclass(frozen=True, kw_only=True)
class DescribeDatabase(Statement):
    database: DatabaseName
    extended: bool = False


@builds("describe_database")
def describe_database(*parts: Any) -> DescribeDatabase:
    return DescribeDatabase(database=parts[-1], extended=len(parts) > 1)


@renders(DescribeDatabase)
def describe_database_text(s: DescribeDatabase) -> str:
    return words("DESCRIBE DATABASE", "EXTENDED" if s.extended else None, database_text(s.database))


@dataclass(frozen=True, kw_only=True)
class UseDatabase(Statement):
    database: DatabaseName


@builds("use_database")
def use_database(database: DatabaseName) -> UseDatabase:
    return UseDatabase(database=database)


@renders(UseDatabase)
def use_database_text(s: UseDatabase) -> str:
    return f"USE DATABASE {database_text(s.database)}"
