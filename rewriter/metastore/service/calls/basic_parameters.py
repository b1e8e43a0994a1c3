"""The parameters that a metastore sets by itself: the time of a change, and the number and size of files.

Files are counted as Hive does: those directly in the directory, without hidden ones. They are counted only below the
directories of ``files``, because a client could name any directory.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from rewriter.catalog.keys.paths import is_hidden
from rewriter.catalog.metastore_writes import BYTES, CHANGED_AT, COUNT
from rewriter.metastore.service.calls.files import is_below_roots

if TYPE_CHECKING:
    from rewriter.metastore.service.calls.call import Service

#: A client asks not to count files.
_KEEP = "DO_NOT_UPDATE_STATS"


def with_time(parameters: Mapping[str, str] | None, now: float) -> dict[str, str]:
    """Returns the parameters with the time of the change, in seconds since 1970, unless the client gives one."""
    given = dict(parameters or {})
    return given if has_time(given) else {**given, CHANGED_AT: str(int(now))}


def has_time(parameters: Mapping[str, str] | None) -> bool:
    """Returns whether a client gives the time of its change. Clients of Hive leave it out: the server sets it."""
    return (parameters or {}).get(CHANGED_AT, "0") != "0"


def with_counts(
    parameters: Mapping[str, str], location: str, service: Service, is_changed: bool = False
) -> dict[str, str]:
    """Returns the parameters with the number and size of the files of a directory, if it exists.

    Counts that the client gives stay, unless ``is_changed``. One listing.
    """
    given = dict(parameters)
    keeps = given.pop(_KEEP, "").lower() == "true"
    if keeps or (not is_changed and {COUNT, BYTES} <= given.keys()) or not is_below_roots(location, service):
        return given
    try:
        with os.scandir(location) as entries:
            sizes = [entry.stat().st_size for entry in entries if entry.is_file() and not is_hidden(entry.name)]
    except (OSError, ValueError):  # A name that no path can have.
        return given
    return {**given, COUNT: str(len(sizes)), BYTES: str(sum(sizes))}
