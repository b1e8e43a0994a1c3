"""The checks of the settings of clusters: the overridden properties, and what a session may use of the catalog's."""

from __future__ import annotations

import re
from collections.abc import Callable

from rewriter.catalog.clusters.definitions import (
    DUCKDB,
    ENGINE_FORMS,
    clusters_of,
    is_any_port,
    is_engine,
    option_problem,
)
from rewriter.errors import DataError

ALLOWED_ADDRESSES = "rewriter.allowed_addresses"
ALLOWED_OPTIONS = "rewriter.allowed_options"

#: A comma before an address. Addresses may contain commas themselves: ``spark://a:7077,b:7077``, ``local[2, 3]``.
_SEPARATOR = re.compile(r"\s*,\s*(?=[A-Za-z]+(?:://|\[|\s*(?:,|$)))")


def cluster_property(key: str) -> Callable[[str], str]:
    """Returns the check of a property that overrides the catalog's property; an empty one does not."""

    def check(text: str) -> str:
        if text.strip():
            clusters_of({key: text})
        return text.strip()

    return check


def address_list(text: str) -> str:
    """Returns a list of addresses, separated by commas, in canonical form. Raises ``DataError`` for other texts.

    >>> address_list("sc://h:15002,spark://a:1,b:2 , local[2, 3]")
    'sc://h:15002, spark://a:1,b:2, local[2, 3]'
    """
    listed = _addresses_in(text)
    for address in listed:
        if not (is_engine(address) or is_any_port(address)):
            raise DataError(
                "A text in the list is no address of an engine.",
                hint=f"Write {ENGINE_FORMS}, or sc://host:* for all ports of a host, separated by commas.",
            )
    return ", ".join(listed)


def _addresses_in(text: str) -> tuple[str, ...]:
    """Returns the addresses of a list."""
    return tuple(filter(None, _SEPARATOR.split(text.strip().strip(","))))


def option_list(text: str) -> str:
    """Returns a list of names of options, separated by commas, in canonical form. Raises ``DataError`` for names that a
    definition cannot have.
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        problem = option_problem(name, "1")
        if problem is not None:
            raise DataError(f"The option {name} never comes from the catalog: {problem}.", hint="Leave it out.")
    return ", ".join(names)


def allows(listed: str, address: str) -> bool:
    """Tests whether a list of addresses has an address, or all ports of its host. Each list has ``duckdb``: it starts
    nothing outside of the process.

    >>> allows("sc://h:*", "sc://h:15002"), allows("sc://h:*", "sc://h.evil.com:15002"), allows("", "duckdb")
    (True, False, True)
    """
    if address == DUCKDB:
        return True
    return any(
        entry == address or (is_any_port(entry) and re.fullmatch(re.escape(entry[:-1]) + r"\d+", address) is not None)
        for entry in _addresses_in(listed)
    )
