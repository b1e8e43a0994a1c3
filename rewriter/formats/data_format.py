"""What is known of a format of data files without opening one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class Reading(Enum):
    """How an engine reads the files of a format."""

    #: By the engine's own reader.
    OWN = "own"
    #: By our reader: DuckDB gets a copy of the rows as a temporary table, Spark runs the reader in its Python workers.
    OURS = "ours"


@dataclass(frozen=True)
class HiveClasses:
    """The classes of Hive for a format: of its rows, its input and its output."""

    serde: str
    input: str
    output: str


@dataclass(frozen=True, kw_only=True)
class DataFormat:
    """One format of data files.

    ``name`` is the one after ``USING`` and the ending of new files; ``title`` is that in messages: "CSV".
    ``aliases`` are other names after ``STORED AS``. ``module`` is the module of ``exec.formats`` that reads and writes
    the files. ``classes`` are those that DESCRIBE shows, ``other_serdes`` more names of the class of rows, the most
    usual first.

    ``is_hives``: Hive reads and writes these files by ``classes`` as we do. Otherwise a table of Hive's clients has
    the format only if Spark made it with ``spark_options`` and no others; ``None`` is any options.
    ``hive_misreads`` is a regular expression of the types of columns whose values Hive reads as others in our files.
    ``misread_by_class`` is the reason why CREATE TABLE with ``classes`` would mean other files; ``None`` if it means
    these.

    ``is_text``: values are texts, which a table casts to its types; else a file states the types. ``has_header``: the
    first line names the columns. ``names_columns``: a file does, in any way. ``omits_nulls``: rows may lack columns.
    ``is_source``: queries read ``name.`path```, and no database has that name. ``marks``: the first bytes of a file.

    ``duckdb`` and ``spark`` say how these read the files. ``widens``: both read a column by a wider type.

    ``unstorable`` is a regular expression of the types of columns that a table cannot have, matched at their
    beginning; ``unwritable`` is searched in those of columns that cannot be written.
    ``column_names`` is the regular expression of the names that columns can have; ``None`` is any.

    ``read_as`` are properties of Hive's serdes, in lower case, with the values that state how the files are read
    anyway; ``None`` if all others are harmless, too, but those in ``by_position`` that are true. ``written_options``
    are options of INSERT OVERWRITE DIRECTORY that state how files are written anyway.

    ``library`` is a package that reading and writing take, which the ``extra`` of ours installs.
    """

    name: str
    title: str
    module: str
    classes: HiveClasses
    aliases: tuple[str, ...] = ()
    other_serdes: tuple[str, ...] = ()
    is_hives: bool = True
    spark_options: Mapping[str, str] | None = None
    hive_misreads: str | None = None
    misread_by_class: str | None = None
    is_text: bool = False
    has_header: bool = False
    names_columns: bool = True
    omits_nulls: bool = False
    is_source: bool = True
    marks: tuple[bytes, ...] = ()
    duckdb: Reading = Reading.OWN
    spark: Reading = Reading.OWN
    widens: bool = False
    unstorable: str | None = None
    unwritable: str | None = None
    column_names: str | None = None
    read_as: Mapping[str, str] | None = None
    by_position: tuple[str, ...] = ()
    written_options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    library: str | None = None
    extra: str | None = None

    @property
    def serdes(self) -> tuple[str, ...]:
        """All names of the class of rows."""
        return (self.classes.serde, *self.other_serdes)

    @property
    def a_file(self) -> str:
        """A file of the format in a sentence: "a text file", "an ORC file"."""
        return f"{'an' if self.title[0] in 'AO' else 'a'} {self.title} file"


@dataclass(frozen=True)
class RefusedFormat:
    """A format of Hive or Spark that no table has here: the reason, and Hive's classes. ``is_source`` says that Spark
    reads ``name.`path```.
    """

    name: str
    reason: str | None = None
    classes: tuple[str, ...] = ()
    is_source: bool = False
