"""``rewriter doctor``: what is wrong with the installation, the machine or the warehouse, and what to do."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rewriter.cli.connection import connection_options, engine_options, given_source
from rewriter.display.terminal.errors import FAILED

if TYPE_CHECKING:
    from rewriter.cli.doctor_checks import Check


@click.command()
@connection_options
@engine_options
@click.option("--spark", is_flag=True, help="Start Spark and run a query on it, which takes half a minute.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array with an object for each check.")
def doctor(spark: bool, as_json: bool, **options: Any) -> int:
    """Check the installation, the machine and a warehouse.

    Says what to do. Checks Python, Java, the engines, the configuration, the catalog, the storage and the clock.
    Changes nothing, and creates no warehouse.

    Exit codes: 0, also with warnings; 1 if a check found an error.
    """
    from rewriter.cli.doctor_checks import as_objects, examine, is_healthy, lines

    source = given_source(**options)
    checks: list[Check] = []

    def shown() -> Iterator[Check]:
        for check in examine(
            source, os.environ, Path.cwd(), start_spark=spark, encoding=getattr(sys.stdout, "encoding", None)
        ):
            checks.append(check)
            yield check

    if as_json:
        import json

        print(json.dumps(as_objects(shown()), ensure_ascii=False, indent=2))
    else:
        for line in lines(shown()):
            print(line, flush=True)
    return 0 if is_healthy(checks) else FAILED
