"""The directories below which files of a table are removed, and new ones made, without following a link."""

from __future__ import annotations

import os
from pathlib import Path

from rewriter.catalog.model.objects import Table
from rewriter.errors import OperationalError


def roots_of(table: Table, warehouse: Path) -> tuple[str, ...]:
    """Returns the roots of ``rewriter.safe_removal`` for a table: named paths, which may be links or lie behind one.

    For a managed table it is the warehouse, or the LOCATION of its database; for an external one its own LOCATION.
    """
    if table.external:
        return (table.location,)
    root = str(warehouse.absolute())
    return (root if table.location.startswith(os.path.join(root, "")) else os.path.dirname(table.location),)


def link_not_followed(link: str, table: Table) -> OperationalError:
    """Returns the error for a link in the path that a statement writes or removes."""
    return OperationalError(
        f"{link} is a symbolic link, and files of {table.name} are written and removed without following links.",
        condition="LINK_NOT_FOLLOWED",
        object=link,
        hint="Replace the link with the directory. To keep data elsewhere, name that location: CREATE "
        "DATABASE … LOCATION, "
        "CREATE EXTERNAL TABLE … LOCATION, ALTER TABLE … ADD PARTITION … LOCATION.",
    )
