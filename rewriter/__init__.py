"""A SQL layer for time-partitioned warehouses: queries of cubes read the cheapest partitions that cover a range
exactly.

``rewriter.connect(directory)`` opens a warehouse as PEP 249 has it; ``rewriter.errors`` holds the whole tree of errors;
``rewriter.register_timeline(name, class)`` makes a class of timelines known to this process, and
``rewriter.register_commit_policy(name, callable)`` a policy that follows the commit of a partition.
"""

import os as _os
import signal as _signal
import sys as _sys

if (_sys.argv[:1] == ["-m"] or list(map(_os.path.basename, _sys.argv[:1])) == ["rewriter"]) and (
    _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler
):
    # This process is the command. Ctrl-C ends it while it loads its modules; then ``cli.main.run_process`` takes over.
    _signal.signal(_signal.SIGINT, lambda *_: (_os.write(2, b"Interrupted.\n"), _os._exit(130)))

from rewriter.connectors.commit_policies import register_commit_policy
from rewriter.dbapi import (
    BINARY,
    DATETIME,
    NUMBER,
    ROWID,
    STRING,
    Binary,
    Date,
    DateFromTicks,
    PartialResultWarning,
    Time,
    TimeFromTicks,
    Timestamp,
    TimestampFromTicks,
    Warning,
    apilevel,
    connect,
    paramstyle,
    threadsafety,
)
from rewriter.errors import (
    DatabaseError,
    DataError,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
)
from rewriter.timeline.kinds.registry import register_timeline

__version__ = "0.2.0"


def load_ipython_extension(shell: object) -> None:
    """Runs for ``%load_ext rewriter``: see ``rewriter.notebook``."""
    from rewriter.notebook.magic import load

    load(shell)


__all__ = [
    "BINARY",
    "DATETIME",
    "NUMBER",
    "ROWID",
    "STRING",
    "Binary",
    "DataError",
    "DatabaseError",
    "Date",
    "DateFromTicks",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "NotSupportedError",
    "OperationalError",
    "PartialResultWarning",
    "ProgrammingError",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
    "Warning",
    "__version__",
    "apilevel",
    "connect",
    "load_ipython_extension",
    "paramstyle",
    "register_commit_policy",
    "register_timeline",
    "threadsafety",
]
