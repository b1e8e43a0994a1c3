"""The protocol of file formats, as sinks use them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import pyarrow as pa


class FileWriter(Protocol):
    """A new file that is open for writing."""

    def write_table(self, table: pa.Table) -> None:
        """Writes rows, as one row group where the format has row groups. Raises ``ValueError`` with a condition in
        brackets for a value that the format cannot hold.
        """

    def close(self) -> None:
        """Completes the file."""


@dataclass(frozen=True)
class FileFormat:
    """A format of data files.

    ``open`` takes the path of a file that does not exist, the columns, and the options of the table. A format with
    ``has_row_groups`` writes well only if many rows of a file are held in memory first, so it is costly to have many
    files open.
    """

    name: str
    open: Callable[[str, pa.Schema, Mapping[str, str]], FileWriter]
    has_row_groups: bool
