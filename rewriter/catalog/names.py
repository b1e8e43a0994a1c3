"""Names of objects: a database and a name in it, as the one text under which the catalog knows an object.

What lies in the database ``default`` is known by its name alone (``t``), all else by both (``sales.t``): a catalog that
has never had another database holds what it has always held. Names have no points of their own, so a text means one
object. Databases are known in lower case, as in Spark. All functions are O(length of the name).
"""

from __future__ import annotations

#: The database that always exists.
DEFAULT_DATABASE = "default"

#: What Spark calls the catalog that holds everything here.
CATALOG = "spark_catalog"


def full_name(database: str, name: str) -> str:
    """The catalog's name of ``name`` in a database."""
    return name if database.lower() == DEFAULT_DATABASE else f"{database.lower()}.{name}"


def database_of(full: str) -> str:
    """The database, in lower case, that an object lies in."""
    database, point, _ = full.partition(".")
    return database.lower() if point else DEFAULT_DATABASE


def short_name(full: str) -> str:
    """The name of an object in its database."""
    return full.rpartition(".")[2]


def parts_of(full: str) -> tuple[str, str]:
    """Database and name."""
    return database_of(full), short_name(full)


def seen_from(database: str, full: str) -> str:
    """An object as somebody names it in whose database it may lie: with its database where it lies in another."""
    own, short = parts_of(full)
    return short if own == database.lower() else f"{own}.{short}"


def database_key(database: str) -> str:
    """What a database itself is known by: no object's name, and the beginning of all that lie in it."""
    return f"{database.lower()}."
