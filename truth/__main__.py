"""``python -m truth``: runs the scenarios on all tools, and writes the table. README.md explains the options."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from truth.environments import Tool, environment, interpreter, tools, version
from truth.report import Column, html, markdown
from truth.scenarios import SCENARIOS

#: Into how many parts the scenarios are divided: each is a process of a tool.
PARTS = 4


def outcomes_of(tool: Tool, python: Path, names: list[str]) -> list[dict[str, Any]]:
    """Runs scenarios on a tool in its environment and returns their outcomes."""
    with tempfile.TemporaryDirectory(prefix="truth-home-") as home:
        command = [str(python), "-W", "ignore", "-m", f"truth.adapters.{tool.module}", *names]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment(Path(home)), check=False)
    if done.returncode:
        raise SystemExit(f"{tool.name}: the adapter failed with exit code {done.returncode}")
    print(f"{tool.name}: {len(names)} scenarios", file=sys.stderr)
    return [json.loads(part.splitlines()[0]) for part in done.stdout.split("\x1e")[1:]]


def columns_of(tool: Tool, python: Path, outcomes: list[dict[str, Any]]) -> Iterator[Column]:
    """Yields the columns of a tool."""
    installed = version(tool, python)
    for name, page in dict.fromkeys((outcome["column"], outcome["page"]) for outcome in outcomes):
        by_scenario = {outcome["scenario"]: outcome for outcome in outcomes if outcome["column"] == name}
        yield Column(name, installed, page, by_scenario)


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
    parser.add_argument("--jobs", type=int, default=1, help="how many processes run at the same time")
    arguments = parser.parse_args()
    environments = arguments.environments.resolve()
    asked = [tool for tool in tools() if tool.name in arguments.tools]
    chosen = [scenario for scenario in SCENARIOS if not arguments.scenarios or scenario.name in arguments.scenarios]
    names = [scenario.name for scenario in chosen]
    parts = [part for first in range(PARTS) if (part := names[first::PARTS])]
    product = Path(arguments.product) if arguments.product else Path(sys.executable)
    with ThreadPoolExecutor(arguments.jobs) as pool:
        pythons = dict(zip(asked, pool.map(lambda tool: interpreter(tool, environments, product), asked), strict=True))
        # The slow tools are the last of the table: they start first.
        runs = [(tool, part) for tool in reversed(asked) for part in parts]
        made = list(pool.map(lambda run: outcomes_of(run[0], pythons[run[0]], run[1]), runs))
    columns = [
        column
        for tool in asked
        for column in columns_of(
            tool,
            pythons[tool],
            [each for run, found in zip(runs, made, strict=True) if run[0] == tool for each in found],
        )
    ]
    for column in columns:
        print(f"{column.name} {column.version}: {dict(column.counts(SCENARIOS))}", file=sys.stderr)
    arguments.output.mkdir(parents=True, exist_ok=True)
    (arguments.output / "results.md").write_text(markdown(chosen, columns))
    (arguments.output / "results.html").write_text(html(chosen, columns))
    (arguments.output / "results.json").write_text(json.dumps([vars(column) for column in columns], indent=1))


if __name__ == "__main__":
    main()
