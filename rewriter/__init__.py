"""A SQL layer for time-partitioned warehouses: cubes answered from the cheapest partitions that cover a range exactly.

``rewriter.connect(directory)`` opens a warehouse as PEP 249 has it; ``rewriter.errors`` holds the whole tree of errors.
"""

from rewriter.dbapi import Warning, apilevel, connect, paramstyle, threadsafety
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

__version__ = "0.1.0"

__all__ = [
    "DataError",
    "DatabaseError",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "Warning",
    "__version__",
    "apilevel",
    "connect",
    "paramstyle",
    "threadsafety",
]
