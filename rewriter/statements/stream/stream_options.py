"""The options of a stream, as SQL and Python give them."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote

from rewriter.errors import AnalysisError, DataError, Error, Span
from rewriter.grammar.terms import Name
from rewriter.lazy_dataclass import dataclass
from rewriter.statements.resolve.locations import absolute, refuse_uri

if TYPE_CHECKING:
    from pathlib import Path

    from rewriter.catalog.model.objects import Table

_AVAILABLE_NOW, _CONTINUOUS = "available now", "continuous batches"
_INTERVAL = re.compile(r"(\d+(?:\.\d+)?) *(millisecond|second|minute|hour)s?")
_SECONDS = {"millisecond": 0.001, "second": 1.0, "minute": 60.0, "hour": 3600.0}
#: The directory of the warehouse that holds checkpoints.
_CHECKPOINTS = "_streams"
#: The greatest number that the option 'max files' takes.
MOST_FILES = 999_999_999
_KEYS = ("stream", "checkpoint", "trigger", "max files")


@dataclass(frozen=True)
class Trigger:
    """When the batches of a stream run: until everything that exists is loaded (``available_now``), or until the stream
    is stopped, a batch every ``seconds``; 0 is without pause.
    """

    available_now: bool
    seconds: float = 0.0


@dataclass(frozen=True)
class StreamOptions:
    """``stream`` is the id of the stream in the warehouse, ``checkpoint`` an absolute path, ``max_files`` the greatest
    number of files in a batch.
    """

    stream: str
    checkpoint: str
    trigger: Trigger
    max_files: int = 1000


def read_options(
    options: Iterable[tuple[str, str, Span | None]],
    position: Span | None,
    table: Table,
    warehouse: Path,
    earlier: Sequence[tuple[str, str]] = (),
) -> StreamOptions:
    """Returns the options of a stream. ``position`` is the position of errors about missing options.

    Without an id, the stream is the only ``earlier`` one, an (id, checkpoint), of the table, which may have had another
    name, or has the name of the table. Without a checkpoint, it has a directory in the warehouse: one
    for each id and table, so that a table that is created again is loaded again.

    Raises ``AnalysisError`` STREAM_OPTION for an unknown or empty option, and ``DataError`` STREAM_OPTION for a wrong
    value; OBJECT_STORE_UNSUPPORTED for a checkpoint in an object store.
    """
    values: dict[str, str] = {"stream": table.name}
    given = {key for key, _, _ in options}
    if len(earlier) == 1 and not given & {"stream", "checkpoint"}:
        values = dict(zip(("stream", "checkpoint"), earlier[0], strict=True))
    spans: dict[str, Span | None] = {}
    for key, value, span in options:
        if key not in _KEYS:
            raise AnalysisError(
                f"A stream has no option '{key}'.",
                condition="STREAM_OPTION",
                position=span,
                object=key,
                hint=f"The options are {', '.join(_KEYS)}.",
            )
        values[key], spans[key] = value, span
    values.setdefault("checkpoint", default_checkpoint(values["stream"], table, warehouse))
    for key in ("stream", "checkpoint"):
        if not values[key].strip():
            raise AnalysisError(
                f"The option '{key}' is empty.",
                condition="STREAM_OPTION",
                position=spans.get(key, position),
                object=key,
                hint="Write OPTIONS ('stream' = 'an id in the warehouse', 'checkpoint' = 'a directory').",
            )
    refuse_uri(
        values["checkpoint"],
        "The checkpoint of a stream",
        "Name a local directory: OPTIONS ('checkpoint' = 'a directory').",
        spans.get("checkpoint", position),
    )
    try:
        checkpoint = absolute(values["checkpoint"], os.getcwd(), Name((values["checkpoint"],)))
        trigger = _read_trigger(values.get("trigger", _AVAILABLE_NOW))
        max_files = _whole_number(values.get("max files", "1000"))
    except Error as error:
        error.position = spans.get(error.object or "", position)
        raise
    return StreamOptions(values["stream"].strip(), checkpoint, trigger, max_files)


def default_checkpoint(stream: str, table: Table, warehouse: Path) -> str:
    """Returns the directory of a stream's checkpoint in the warehouse."""
    return str(warehouse / _CHECKPOINTS / f"{quote(stream.strip(), safe='')}-{table.id}")


def _read_trigger(text: str) -> Trigger:
    """Returns the trigger that a text names: ``available now``, ``continuous batches``, or an interval such as
    ``10 seconds``.
    """
    words = " ".join(text.lower().split())
    if words == _AVAILABLE_NOW:
        return Trigger(True)
    if words == _CONTINUOUS:
        return Trigger(False)
    interval = _INTERVAL.fullmatch(words)
    seconds = None if interval is None else float(interval[1]) * _SECONDS[interval[2]]
    if seconds is None or seconds > threading.TIMEOUT_MAX:
        raise DataError(
            f"'{text}' is not a trigger.",
            condition="STREAM_OPTION",
            object="trigger",
            hint=f"Use '{_AVAILABLE_NOW}', '{_CONTINUOUS}', or an interval such as '10 seconds'.",
        )
    return Trigger(False, seconds)


def _whole_number(text: str) -> int:
    if not text.strip().isdecimal() or len(text.strip()) > len(str(MOST_FILES)) or int(text) == 0:
        raise DataError(
            f"'{text}' is not a number of files.",
            condition="STREAM_OPTION",
            object="max files",
            hint="Use a whole number of 1 or more.",
        )
    return int(text)
