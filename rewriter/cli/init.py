"""``rewriter init FILES``: proposes the cube of files of events: a CREATE CUBE … FROM with a comment at each guess."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rewriter.cli.connection import connection, connection_options
from rewriter.errors import DataError
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Column
    from rewriter.session import Session

#: The rows that are looked at, and the most values of a dimension that rollups keep.
_SAMPLE, _MOST_VALUES = 100_000, 1_000
#: The events of a day from which on their partitions are hours.
_MANY_A_DAY = 5_000_000
_CONFIGURATION = '[profiles.default]\nwarehouse = "warehouse"\nengine = "duckdb"\n'
_FILE = "cube.sql"


@click.command()
@connection_options
@click.option("--cube", metavar="NAME", help="The name of the cube. Default: the name of the directory or file.")
@click.option("--yes", is_flag=True, help="Run the statement without asking.")
@click.argument("files", nargs=-1, required=True, metavar="FILES…", type=click.Path())
def init(files: Sequence[str], cube: str | None, yes: bool, **options: Any) -> int:
    """Propose a cube over files of events.

    FILES are a directory, or files of one directory. The command looks at their schema and at a sample, and writes
    cube.sql: a CREATE CUBE … FROM, with a comment at each guess. It writes rewriter.toml if there is none. It asks
    before it runs the statement. Where there is no terminal, it runs it with --yes alone.
    """
    if os.path.lexists(_FILE):
        raise click.UsageError(f"{_FILE} exists. Remove it, or work in another directory.")
    source = _source(files)
    local_times = _check_schemas(source)
    with connection(**options).session(plans_only=True) as session:
        events = _read(source, session)
    text = _statement(source, events, local_times, cube or _name(source))
    Path(_FILE).write_text(text, encoding="utf-8")
    click.echo(text.rstrip())
    if not os.path.lexists("rewriter.toml"):
        Path("rewriter.toml").write_text(_CONFIGURATION, encoding="utf-8")
    if not yes and not (sys.stdin.isatty() and sys.stderr.isatty() and click.confirm("Run it now?", err=True)):
        click.echo(f"Read {_FILE}, then run: rewriter -f {_FILE}", err=True)
        return 0
    from rewriter.cli.shell import sql

    named = {"-w": options["warehouse"], "--catalog": options["catalog"], "--profile": options["profile"]}
    arguments = [part for option, value in named.items() if value is not None for part in (option, value)]
    return int(sql.main(["-f", _FILE, *arguments], standalone_mode=False, obj=click.get_current_context().obj) or 0)


@dataclass(frozen=True)
class _Source:
    """The files: their format, the path as SQL writes it, each file, and what the cube is called after."""

    format: str
    path: str
    files: tuple[Path, ...]
    name: str
    root: str = ""

    @property
    def directories(self) -> str | None:
        """The directory whose directories have names such as ``day=2024-05-01``, as SQL writes it."""
        if not self.root or not all("=" in part for part in self.files[0].relative_to(self.root).parts[:-1]):
            return None
        return f"{self.format}.`{self.root.replace('`', '``')}`"

    @property
    def relation(self) -> str:
        return f"{self.format}.`{self.path.replace('`', '``')}`"


@dataclass(frozen=True)
class _Events:
    """The columns of the events, their number, first and last time; and of a sample the number of events, and each
    column's number of values and of NULLs.
    """

    columns: tuple[Column, ...]
    rows: int
    span: tuple[str, str] | None
    sample: int
    values: dict[str, int]
    nulls: dict[str, int]
    time: str

    @property
    def rows_of_a_day(self) -> float:
        """The mean number of events of a day."""
        if self.span is None:
            return 0
        days = [datetime.fromisoformat(time).toordinal() for time in self.span]
        return self.rows / (days[1] - days[0] + 1)


def _source(arguments: Sequence[str]) -> _Source:
    """Returns the files of a directory, or some files of one directory. They have one format."""
    from rewriter.data_formats import DATA_FORMATS

    paths = [Path(argument) for argument in arguments]
    missing = next((path for path in paths if not path.exists()), None)
    if missing is not None:
        raise click.UsageError(f"There is no file or directory {missing}.")
    if len(paths) > 1 and (any(path.is_dir() for path in paths) or len({path.parent for path in paths}) > 1):
        raise click.UsageError("Name one directory, or files of one directory.")
    first = paths[0]
    files = paths if not first.is_dir() else [path for path in sorted(first.rglob("*")) if _is_data(path, first)]
    endings = {path.suffix.lstrip(".").lower() for path in files}
    if not files:
        raise click.UsageError(f"{first} has no files.")
    if len(endings) > 1 or not endings <= DATA_FORMATS.keys():
        shown = ", ".join(sorted(ending or "none" for ending in endings))
        formats = ", ".join(sorted(DATA_FORMATS))
        raise click.UsageError(f"The files end in {shown}. Name files of one of the formats {formats}.")
    (ending,) = endings
    if len(paths) > 1:
        if {path.name for path in paths} != {path.name for path in first.parent.glob(f"*.{ending}")}:
            raise click.UsageError(f"{first.parent} has other files, too: name it, or move these into a directory.")
        return _Source(ending, f"{first.parent}/*.{ending}", tuple(files), first.absolute().parent.name)
    if not first.is_dir():
        return _Source(ending, str(first), tuple(files), first.stem)
    depths = {len(file.relative_to(first).parts) for file in files}
    if len(depths) > 1:
        raise click.UsageError(f"{first} has files in directories of several depths: name one of the directories.")
    (depth,) = depths
    pattern = "/*" * (depth - 1) + f"/*.{ending}" if depth > 1 else ""
    return _Source(ending, f"{first}{pattern}", tuple(files), first.absolute().name, str(first) if pattern else "")


def _is_data(path: Path, root: Path) -> bool:
    """Tests whether a path is a file that queries read: no name that begins with a dot or an underscore."""
    return path.is_file() and not any(part.startswith((".", "_")) for part in path.relative_to(root).parts)


def _check_schemas(source: _Source) -> frozenset[str]:
    """Returns the columns that are times without a zone. Raises ``DataError`` for Parquet files that cannot be read, or
    with other columns than the first one.
    """
    if source.format != "parquet":
        return frozenset()
    import pyarrow as pa
    import pyarrow.parquet as pq

    first: pa.Schema | None = None
    for file in source.files:
        try:
            schema = pq.read_schema(file).remove_metadata()
        except (pa.ArrowException, OSError) as error:
            raise DataError(
                f"{file} cannot be read as Parquet: {error}",
                condition="FAILED_READ_FILE",
                sqlstate="KD001",
                hint="Remove the file, or write it again.",
            ) from None
        first = first or schema
        differing = next(
            (f.name for f in schema if f.name not in first.names or first.field(f.name).type != f.type), None
        )
        differing = differing or next((name for name in first.names if name not in schema.names), None)
        if differing is not None:
            raise DataError(
                f"{file} and {source.files[0]} have different columns: {differing}.",
                condition="FAILED_READ_FILE",
                sqlstate="KD001",
                hint="Name files of one schema, or write them again with the same columns.",
            )
    assert first is not None
    return frozenset(field.name for field in first if pa.types.is_timestamp(field.type) and field.type.tz is None)


def _read(source: _Source, session: Session) -> _Events:
    from rewriter.grammar.unparse import quote_name

    described = session.execute(f"SELECT * FROM {source.relation} LIMIT 0")
    columns = described.columns or ()
    time = next((c.name for t in ("timestamp", "date") for c in columns if c.type == t), None)
    if time is None:
        shown = ", ".join(f"{column.name} {column.type.upper()}" for column in columns)
        raise DataError(
            f"No column is a TIMESTAMP or DATE: {shown}.",
            condition="INVALID_CUBE",
            hint="A view gives columns their types, those of times and of numbers: CREATE VIEW v AS SELECT "
            f"to_timestamp(t) AS t, CAST(n AS BIGINT) AS n, … FROM {source.relation}; then CREATE CUBE "
            f"{quote_name(_name(source))} FROM v.",
        )
    counts = ", ".join(
        f"COUNT(DISTINCT {quote_name(c.name)}), COUNT({quote_name(c.name)})" for c in columns if "<" not in c.type
    )
    plain = [column for column in columns if "<" not in column.type]
    sampled: tuple[Any, ...] = next(
        iter(
            session.execute(f"SELECT COUNT(*), {counts} FROM (SELECT * FROM {source.relation} LIMIT {_SAMPLE})").rows()
        )
    )
    sample, *figures = sampled
    bounds = f"CAST(MIN({quote_name(time)}) AS STRING), CAST(MAX({quote_name(time)}) AS STRING)"
    whole: tuple[Any, ...] = next(iter(session.execute(f"SELECT COUNT(*), {bounds} FROM {source.relation}").rows()))
    rows, first, last = whole
    values = {column.name: figures[2 * number] for number, column in enumerate(plain)}
    nulls = {column.name: sample - figures[2 * number + 1] for number, column in enumerate(plain)}
    span = None if first is None else (str(first), str(last))
    return _Events(tuple(plain), rows, span, sample, values, nulls, time)


def _statement(source: _Source, events: _Events, local_times: Collection[str], cube: str) -> str:
    """Returns the proposed statement, with a comment at each guess. ``local_times`` are the times without a zone."""
    from rewriter.grammar.unparse import quote_name
    from rewriter.statements.maintain.create_cube_from import is_dimension, is_number

    others = [column for column in events.columns if column.name != events.time]
    dimensions = [column for column in others if is_dimension(column)]
    small = [column.name for column in dimensions if events.values[column.name] <= _MOST_VALUES]
    numbers = [column for column in others if column not in dimensions and is_number(column.type)]
    left_out = [column.name for column in others if column not in dimensions and column not in numbers]
    times = [c.name for c in events.columns if c.type in ("timestamp", "date")]
    begun = f", from {events.span[0]} to {events.span[1]}" if events.span else ""
    lines = [f"-- Proposed by rewriter init. Events: {events.rows:,}{begun}. Files: {len(source.files):,}."]
    if events.rows > events.sample:
        lines.append(f"-- The numbers of values are those of the first {events.sample:,} events.")
    if left_out:
        lines.append(f"-- Left out, because they are neither texts nor numbers: {', '.join(left_out)}.")
    lines.append(f"CREATE CUBE {quote_name(cube)} FROM {source.relation}")
    if source.directories:
        lines.append(
            f"  -- or FROM {source.directories} EXTERNAL, which copies no file, if the directories name its time"
        )
    also = [name for name in times if name != events.time]
    lines.append(
        f"  TIME {quote_name(events.time)}"
        + (f"  -- or {', '.join(also)}" if also else "  -- the only column of its type")
        + (f"; {events.nulls[events.time]:,} events have none" if events.nulls[events.time] else "")
    )
    if dimensions:
        lines.append("  DIMENSIONS (")
        for number, column in enumerate(dimensions):
            comma = "," if number < len(dimensions) - 1 else ""
            kept = "" if column.name in small else ", too many for the rollups below"
            lines.append(f"    {quote_name(column.name)}{comma}  -- {events.values[column.name]:,} values{kept}")
        lines.append("  )")
    lines.append("  MEASURES (")
    counted = next(name for n in range(1, 99) if (name := "events" if n == 1 else f"events_{n}") not in events.values)
    measures = [(f"COUNT(*) AS {quote_name(counted)}", "the number of events")]
    measures += [
        (f"SUM({quote_name(c.name)}) AS {quote_name(c.name)}", f"{c.type.upper()}; or MAX, MIN") for c in numbers
    ]
    for number, (measure, reason) in enumerate(measures):
        comma = "," if number < len(measures) - 1 else ""
        lines.append(f"    {measure}{comma}  -- {reason}")
    lines.append("  )")
    finest = "HOURLY" if events.rows_of_a_day > _MANY_A_DAY else "DAILY"
    kept_columns = f" ({', '.join(map(quote_name, small))})" if small and len(small) < len(dimensions) else ""
    if small or not dimensions:
        periods = dict.fromkeys((finest, "DAILY", "MONTHLY"))
        unit = "hours" if finest == "HOURLY" else "days"
        lines.append(
            f"  ROLLUPS ({', '.join(f'{period}{kept_columns}' for period in periods)})"
            f"  -- {unit} are the partitions of the events: about {events.rows_of_a_day:,.0f} a day"
        )
    without = "The times in the files have no zone, and are read as UTC. " if events.time in local_times else ""
    lines.append(f"  -- {without}TIME ZONE 'Europe/Berlin'  if your days do not begin at midnight in UTC")
    return "\n".join(lines) + "\n;\n"


def _name(source: _Source) -> str:
    """Returns a name for the cube: the name of the directory or file, as an identifier."""
    name = "".join(char if char.isalnum() or char == "_" else "_" for char in source.name).strip("_").lower()
    return name if name[:1].isalpha() else f"events_{name}".rstrip("_")
