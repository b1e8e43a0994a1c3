"""A SQL layer for time-partitioned warehouses: queries of cubes read the cheapest partitions that cover a range
exactly.

``rewriter.connect(directory)`` opens a warehouse as PEP 249 has it; ``rewriter.errors`` holds the whole tree of errors;
``rewriter.register_timeline(name, class)`` makes a class of timelines known to this process, and
``rewriter.register_commit_policy(name, callable)`` a policy that follows the commit of a partition;
``rewriter.spark.register(session, directory)`` opens a warehouse for a session of Spark.
"""

import os as _os
import sys as _sys

#: The built-in part of ``signal``. The import of the rest takes time in which Ctrl-C would show a traceback.
_signal = __import__("_signal")

if (_sys.argv[:1] == ["-m"] or list(map(_os.path.basename, _sys.argv[:1])) == ["rewriter"]) and (
    _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler
):
    # This process is the command. Ctrl-C ends it while it loads its modules; then ``cli.main.run_process`` takes over.
    _signal.signal(_signal.SIGINT, lambda *_: (_os.write(2, b"Interrupted.\n"), _os._exit(130)))

from importlib import import_module as _import_module  # noqa: E402
from typing import TYPE_CHECKING as _TYPE_CHECKING  # noqa: E402

if _TYPE_CHECKING:
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

__version__ = "0.3.0"


#: The modules of the public names, apart from the names of ``rewriter.dbapi``. A name loads its module when it is first
#: used, so that `rewriter --version` loads none of them.
_MODULES = {
    "register_commit_policy": "rewriter.connectors.commit_policies",
    "register_timeline": "rewriter.timeline.kinds.registry",
}
#: What `import rewriter` makes known below it.
_PACKAGES = ("connectors", "dbapi", "errors", "spark", "timeline")


def __getattr__(name: str) -> object:
    if name in _PACKAGES:
        return _import_module(f"rewriter.{name}")
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(_import_module(_MODULES.get(name, "rewriter.dbapi")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def load_ipython_extension(shell: object) -> None:
    """Runs for ``%load_ext rewriter``: see ``rewriter.integrations.notebook``."""
    from rewriter.integrations.notebook import load

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
