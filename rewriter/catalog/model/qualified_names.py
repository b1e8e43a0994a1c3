"""Names of objects: a database and a name in it, as one text by which the catalog identifies an object.

An object in the database ``default`` is known by its name alone (``t``), all others by both (``sales.t``): a catalog
that never had another database does not change. Names contain no points, so a text identifies one object. Databases
are in lower case, as in Spark. All functions are O(length of the name).
"""

from __future__ import annotations

#: The database that always exists.
DEFAULT_DATABASE = "default"

#: Spark's name of the only catalog.
CATALOG = "spark_catalog"

#: The key of the catalog's properties: that of a database without a name, which no object has.
PROPERTIES_KEY = "."


def full_name(database: str, name: str) -> str:
    """Returns the catalog's name of ``name`` in a database."""
    return name if database.lower() == DEFAULT_DATABASE else f"{database.lower()}.{name}"


def database_of(full: str) -> str:
    """Returns the database of an object, in lower case."""
    database, point, _ = full.partition(".")
    return database.lower() if point else DEFAULT_DATABASE


def short_name(full: str) -> str:
    """Returns the name of an object in its database."""
    return full.rpartition(".")[2]


def parts_of(full: str) -> tuple[str, str]:
    """Returns database and name."""
    return database_of(full), short_name(full)


def seen_from(database: str, full: str) -> str:
    """Returns an object's name as seen from a database: with its own database if that is another one."""
    database_name, short_name = parts_of(full)
    return short_name if database_name == database.lower() else f"{database_name}.{short_name}"


def database_key(database: str) -> str:
    """Returns the key of a database: no object's name, and the prefix of all objects in it."""
    return f"{database.lower()}."


def function_key(full: str) -> str:
    """Returns the key of a function, ``sales..f``; that of one in ``default`` is ``default..f``.

    Functions have a name space of their own in each database: no name contains a point, so no other object has a key
    with two. The key begins with that of the database, as those of the other objects in it do.
    """
    database, name = parts_of(full)
    return f"{database_key(database)}.{name.lower()}"
