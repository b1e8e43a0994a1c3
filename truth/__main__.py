"""``python -m truth``: runs the scenarios on all tools, and writes the table. README.md explains the options."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from truth.environments import Tool, environment, interpreter, tools, version
from truth.report import Column, html, markdown
from truth.scenarios import SCENARIOS


def columns_of(tool: Tool, folder: Path, names: list[str], product: str | None) -> list[Column]:
    """Runs a tool in its environment and returns its columns."""
    python = Path(product) if product and not tool.requirements else interpreter(tool, folder)
    with tempfile.TemporaryDirectory(prefix="truth-home-") as home:
        command = [str(python), "-W", "ignore", "-m", f"truth.adapters.{tool.module}", *names]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment(Path(home)), check=False)
    if done.returncode:
        raise SystemExit(f"{tool.name}: the adapter failed with exit code {done.returncode}")
    by_column: dict[str, list[dict[str, Any]]] = {}
    for part in done.stdout.split("\x1e")[1:]:
        outcome = json.loads(part.splitlines()[0])
        by_column.setdefault(outcome["column"], []).append(outcome)
    installed = version(tool, python)
    return [
        Column(name, installed, outcomes[0]["page"], {outcome["scenario"]: outcome for outcome in outcomes})
        for name, outcomes in by_column.items()
    ]


def main() -> None:
    """Parses the command line, runs, and writes results.md, results.html and results.json."""
    parser = argparse.ArgumentParser(prog="python -m truth", description="Do tools tell the truth about rollups?")
    parser.add_argument("--tools", nargs="*", default=[tool.name for tool in tools()], help="names of tools.toml")
    parser.add_argument("--scenarios", nargs="*", default=[], help="names of scenarios; default: all")
    parser.add_argument(
        "--environments", type=Path, default=Path("truth-environments"), help="where tools are installed"
    )
    parser.add_argument("--output", type=Path, default=Path("truth-results"), help="the directory of the results")
    parser.add_argument("--product", help="a Python in which rewriter is installed; default: this one")
    parser.add_argument("--jobs", type=int, default=1, help="how many tools run at the same time")
    arguments = parser.parse_args()
    environments = arguments.environments.resolve()
    asked = [tool for tool in tools() if tool.name in arguments.tools]
    with ThreadPoolExecutor(arguments.jobs) as pool:
        # The slow tools are the last of the table: they start first.
        made = pool.map(
            lambda tool: columns_of(tool, environments, arguments.scenarios, arguments.product), asked[::-1]
        )
        columns = [column for columns in list(made)[::-1] for column in columns]
    for column in columns:
        print(f"{column.name} {column.version}: {dict(column.counts(SCENARIOS))}", file=sys.stderr)
    chosen = [scenario for scenario in SCENARIOS if not arguments.scenarios or scenario.name in arguments.scenarios]
    arguments.output.mkdir(parents=True, exist_ok=True)
    (arguments.output / "results.md").write_text(markdown(chosen, columns))
    (arguments.output / "results.html").write_text(html(chosen, columns))
    (arguments.output / "results.json").write_text(json.dumps([vars(column) for column in columns], indent=1))


if __name__ == "__main__":
    main()
