"""The protocols of file formats: the writer, as sinks use it, and the reader."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, Protocol

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
    files open. ``ending`` returns what the options add to the ending of new files.
    """

    name: str
    open: Callable[[str, pa.Schema, Mapping[str, str]], FileWriter]
    has_row_groups: bool
    ending: Callable[[Mapping[str, str]], str] | None = None

    def file_ending(self, options: Mapping[str, str]) -> str:
        """Returns the ending of new files: ``.csv``, or ``.csv.gz`` with an option that compresses."""
        return f".{self.name}{'' if self.ending is None else self.ending(options)}"


#: The options of a table.
Options = Mapping[str, str]
#: Opens a file by its path, for reading bytes.
OpenFile = Callable[[str], IO[Any]]


@dataclass(frozen=True)
class FileReader:
    """How the files of a format are examined and read. Each function raises ``OSError`` or ``ValueError`` for a file
    that it cannot read.

    ``schema`` returns the columns that a file states, at the cost of a footer, a line, or all of a JSON file.
    ``check`` reads a whole file, and yields after each piece; ``check_head`` reads as little as shows most damages.
    ``rows`` returns the number of rows that a file declares; ``None`` if it takes reading them.

    ``values`` yields the line, the column and the text of each value, of columns with these names where files name
    none; ``None`` if values are not texts.

    ``pieces`` yields the rows of a file for engines that do not read the format by themselves. It takes columns of
    Arrow's types as the table declares them. A format of text yields exactly these columns, as texts. A
    reader that Spark's Python workers run yields exactly these columns, of these types. The others yield the columns of
    the file, of its types. A reader that runs in workers uses nothing outside this folder.

    ``has_local_times`` says that a timestamp without a zone in a file is no instant.
    """

    schema: Callable[[str, Options], pa.Schema]
    check: Callable[[str, Options], Iterator[None]]
    check_head: Callable[[str, Options], object] | None = None
    rows: Callable[[str], int] | None = None
    values: Callable[[str, Sequence[str], Options], Iterator[tuple[int, str, str]]] | None = None
    pieces: Callable[[str, OpenFile, pa.Schema, Options], Iterator[Any]] | None = None
    has_local_times: bool = False
