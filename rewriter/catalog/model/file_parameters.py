"""The parameters by which clients of a metastore say that a partition has other files: their number, their bytes, and
the time of the last change, in seconds since 1970.
"""

from __future__ import annotations

from collections.abc import Mapping

COUNT, BYTES = "numFiles", "totalSize"
CHANGED_AT = "transient_lastDdlTime"


def has_other_files(before: Mapping[str, str], given: Mapping[str, str]) -> bool:
    """Returns whether a partition with the parameters ``before`` has other files if a client gives it ``given``.

    A parameter that the client leaves out says nothing.

    >>> has_other_files({"numFiles": "1"}, {"numFiles": "2"}), has_other_files({"numFiles": "1"}, {"owner": "ada"})
    (True, False)
    """
    return any(key in given and given[key] != before.get(key) for key in (COUNT, BYTES, CHANGED_AT))
