"""Every kind of statement has one function that runs it."""

import gc
import subprocess
import sys
from pathlib import Path

import pytest

from rewriter.grammar.families.databases import UseDatabase
from rewriter.grammar.families.queries import Select
from rewriter.grammar.families.session_variables import ExecuteImmediate
from rewriter.grammar.families.settings import ResetSetting, SetSetting
from rewriter.grammar.families.transactions import Commit, Rollback, StartTransaction
from rewriter.grammar.statements import Statement
from rewriter.runtime.statement_runners import runs
from rewriter.statements.dispatch import runner_of, runners

#: Statements that the session executes by itself.
OF_THE_SESSION = {SetSetting, ResetSetting, StartTransaction, Commit, Rollback, UseDatabase, ExecuteImmediate}


def kinds_of(kind: type[Statement]) -> set[type[Statement]]:
    """Returns the kinds below a class that the parser makes."""
    below = kind.__subclasses__()
    return {kind} if not below else {leaf for child in below for leaf in kinds_of(child)}


def test_every_kind_of_statement_has_a_runner() -> None:
    run = set(runners())
    gc.collect()  # A class that was made a dataclass has had a subclass, which goes with the next collection.
    assert kinds_of(Statement) == run | OF_THE_SESSION
    assert all(runner_of(kind) is None for kind in OF_THE_SESSION)


def test_a_second_runner_of_a_kind_is_refused() -> None:
    runners()
    with pytest.raises(ValueError, match="Select already has a runner: select"):
        runs(Select)(lambda statement, context: NotImplemented)


def test_a_statement_that_makes_a_warehouse_needs_none() -> None:
    makes = {kind.__name__ for kind, runner in runners().items() if runner.without_warehouse}
    assert {"CreateTable", "CreateDatabase", "Select"} <= makes
    assert "Insert" not in makes


def test_a_statement_that_plans_nothing_loads_no_parser_of_queries(tmp_path: Path) -> None:
    script = (
        "import sys; from rewriter.session import Session\n"
        "with Session(sys.argv[1], engine='duckdb') as session:\n"
        "    session.execute('CREATE TABLE t (a INT)')\n"
        "    assert list(session.execute('SHOW TABLES').rows())\n"
        "print(*sorted({name.split('.')[0] for name in sys.modules} & {'sqlglot', 'lark', 'duckdb', 'pyspark'}))\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path)]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip() == ""
