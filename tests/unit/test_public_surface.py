"""The public interface: the names of ``rewriter`` and ``rewriter.dbapi``, and the requirements of PEP 249."""

import subprocess
import sys

import pytest

import rewriter
from rewriter import dbapi, errors

EXCEPTIONS = {
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
}


CONSTRUCTORS = {"Date", "Time", "Timestamp", "DateFromTicks", "TimeFromTicks", "TimestampFromTicks", "Binary"}
TYPE_OBJECTS = {"STRING", "BINARY", "NUMBER", "DATETIME", "ROWID"}


def test_the_package_exports_what_it_says() -> None:
    expected = EXCEPTIONS | CONSTRUCTORS | TYPE_OBJECTS
    expected |= {
        "PartialResultWarning",
        "__version__",
        "apilevel",
        "connect",
        "load_ipython_extension",
        "paramstyle",
        "register_commit_policy",
        "register_timeline",
        "threadsafety",
    }
    assert set(rewriter.__all__) == expected
    # Names with @ are those that pytest adds to a package that has a plugin.
    visible = {name for name in dir(rewriter) if not name.startswith(("_", "@"))}
    modules = {name.split(".")[1] for name in sys.modules if name.startswith("rewriter.")}
    assert visible - modules == expected - {"__version__"}


def test_pep_249_globals() -> None:
    assert (rewriter.apilevel, rewriter.threadsafety, rewriter.paramstyle) == ("2.0", 1, "qmark")
    assert all(getattr(rewriter, name) is getattr(errors, name) for name in EXCEPTIONS - {"Warning"})
    for name in CONSTRUCTORS:
        assert callable(getattr(rewriter, name))
        assert getattr(rewriter, name) is getattr(dbapi, name)
    for name in TYPE_OBJECTS:
        assert isinstance(getattr(rewriter, name), dbapi.DBAPIType)
        assert getattr(rewriter, name) is getattr(dbapi, name)


@pytest.mark.parametrize(
    ("code", "group"),
    [
        *((code, "STRING") for code in ("string", "char(3)", "varchar(9)", "array<int>", "struct<a:int>", "void")),
        *((code, "NUMBER") for code in ("boolean", "tinyint", "bigint", "double", "decimal(38,10)")),
        *((code, "DATETIME") for code in ("date", "timestamp", "timestamp_ntz", "interval day to second")),
        ("binary", "BINARY"),
    ],
)
def test_each_type_code_is_equal_to_one_type_object(code: str, group: str) -> None:
    assert [name for name in sorted(TYPE_OBJECTS) if getattr(rewriter, name) == code] == [group]


def test_the_tree_of_errors_is_that_of_pep_249() -> None:
    assert issubclass(rewriter.InterfaceError, rewriter.Error)
    assert not issubclass(rewriter.InterfaceError, rewriter.DatabaseError)
    for name in EXCEPTIONS - {"Error", "InterfaceError", "DatabaseError", "Warning"}:
        assert issubclass(getattr(rewriter, name), rewriter.DatabaseError)
    assert issubclass(rewriter.Warning, Exception)
    assert not issubclass(rewriter.Warning, rewriter.Error)


def test_importing_the_package_loads_nothing_heavy() -> None:
    heavy = ("pyspark", "duckdb", "pyarrow", "pandas", "sqlglot", "sqlalchemy", "lark", "rich")
    code = f"import sys, rewriter; print([m for m in {heavy!r} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
