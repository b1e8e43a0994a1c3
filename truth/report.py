"""The table as Markdown and as HTML, in which each cell opens to its steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from truth.judge import Verdict, verdict
from truth.model import NO_REPORT, Scenario

MARKS: dict[Verdict, str] = {
    "right": "right",
    "refused or warned": "refused",
    "silently wrong": "**WRONG**",
    "not expressible": "–",
}
COLORS: dict[Verdict, str] = {
    "right": "#d7f0d7",
    "refused or warned": "#fdf1c7",
    "silently wrong": "#f7c6c6",
    "not expressible": "#eeeeee",
}


@dataclass(frozen=True)
class Column:
    """A tool in one way of use. ``outcomes`` are by the name of the scenario."""

    name: str
    version: str
    page: str
    outcomes: dict[str, dict[str, Any]]

    def verdict(self, scenario: Scenario) -> Verdict | None:
        """Returns the verdict on a scenario, or ``None`` where it was not run."""
        outcome = self.outcomes.get(scenario.name)
        return None if outcome is None else verdict(outcome, scenario.right)

    def counts(self, scenarios: Sequence[Scenario]) -> Counter[Verdict]:
        """Returns the number of scenarios of each verdict."""
        return Counter(judged for scenario in scenarios if (judged := self.verdict(scenario)))


def markdown(scenarios: Sequence[Scenario], columns: Sequence[Column]) -> str:
    """Returns the totals, the table of scenarios, and the reasons of what is not expressible."""
    lines = [
        "# Results",
        "",
        "| column | package | " + " | ".join(MARKS) + " |",
        "| --- | --- |" + " ---: |" * len(MARKS),
    ]
    for column in columns:
        counts = column.counts(scenarios)
        numbers = " | ".join(str(counts[name]) for name in MARKS)
        lines.append(f"| [{column.name}]({column.page}) | {column.version} | {numbers} |")
    lines += ["", "The numbers of the columns below:", ""]
    lines += [f"{number}. {column.name}" for number, column in enumerate(columns, 1)]
    header = " | ".join(str(number) for number in range(1, len(columns) + 1))
    for family in dict.fromkeys(scenario.family for scenario in scenarios):
        lines += [
            "",
            f"## {family.capitalize()}",
            "",
            f"| scenario | reports | {header} |",
            "| --- | --- |" + " --- |" * len(columns),
        ]
        for scenario in scenarios:
            if scenario.family == family:
                cells = " | ".join(MARKS[judged] if (judged := column.verdict(scenario)) else "" for column in columns)
                lines.append(f"| `{scenario.name}`: {scenario.title} | {_links(scenario)} | {cells} |")
    lines += ["", "## Not expressible", ""]
    for column in columns:
        for scenario in scenarios:
            if column.verdict(scenario) == "not expressible":
                lines.append(
                    f"- {column.name}, `{scenario.name}`: {column.outcomes[scenario.name]['not_expressible']}."
                )
    return "\n".join(lines) + "\n"


def html(scenarios: Sequence[Scenario], columns: Sequence[Column]) -> str:
    """Returns a page without scripts. Each cell opens to the steps, the result and the right answer."""
    head = "".join(
        f'<th><a href="{escape(c.page)}">{escape(c.name)}</a><br><small>{escape(c.version)}</small></th>'
        for c in columns
    )
    totals = "".join(f"<td><small>{_totals(column, scenarios)}</small></td>" for column in columns)
    rows = "".join(
        f"<tr><td>{_described(scenario)}</td>{''.join(_cell(c, scenario) for c in columns)}</tr>\n"
        for scenario in scenarios
    )
    return f"""<!doctype html><meta charset="utf-8"><title>A public bench of truth</title>
<style>body{{font:14px sans-serif}}
table{{border-collapse:collapse}}td,th{{border:1px solid #bbb;padding:4px;vertical-align:top}}
pre{{white-space:pre-wrap;max-width:42em;font-size:12px}}th{{position:sticky;top:0;background:#fff}}</style>
<h1>A public bench of truth</h1><p>Open a cell to see what was run.</p>
<table><tr><th>scenario</th>{head}</tr><tr><td>totals</td>{totals}</tr>
{rows}</table>
"""


def _links(scenario: Scenario) -> str:
    return ", ".join(link if link == NO_REPORT else f"[{_short(link)}]({link})" for link in scenario.reports)


def _short(link: str) -> str:
    repository, number = link.split("/")[-3], link.split("/")[-1]
    return f"{repository}#{number}"


def _described(scenario: Scenario) -> str:
    links = ", ".join(
        link if link == NO_REPORT else f'<a href="{escape(link)}">{escape(_short(link))}</a>'
        for link in scenario.reports
    )
    steps = "\n".join(map(str, scenario.steps))
    return (
        f"<details><summary><b>{escape(scenario.name)}</b>: {escape(scenario.title)}</summary><pre>{escape(steps)}\n"
        f"{escape(str(scenario.question))}\nright: {escape(str(scenario.right))}\n"
        f"{escape(scenario.derivation)}</pre></details>"
        f"<small>{links}</small>"
    )


def _cell(column: Column, scenario: Scenario) -> str:
    judged = column.verdict(scenario)
    if judged is None:
        return "<td></td>"
    outcome = column.outcomes[scenario.name]
    told = [*outcome["steps"], *(f"warning: {text}" for text in outcome["warnings"])]
    if outcome["not_expressible"]:
        told.append(f"not expressible: {outcome['not_expressible']}")
    told.append(f"right: {list(scenario.right)}")
    return (
        f'<td style="background:{COLORS[judged]}"><details><summary>{judged}</summary>'
        f"<pre>{escape(chr(10).join(told))}</pre></details></td>"
    )


def _totals(column: Column, scenarios: Sequence[Scenario]) -> str:
    counts = column.counts(scenarios)
    return "<br>".join(f"{counts[name]} {name}" for name in MARKS)
