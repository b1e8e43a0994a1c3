"""The conditions in docs/reference/errors.md: from docs/reference/errors.toml, and the forms in the source."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.reference_pages.error_forms import Form, forms
from tests.reference_pages.expression_texts import is_computed
from tests.reference_pages.page_parts import REFERENCE, anchor, code, plain, table
from tests.reference_pages.source_conditions import raised, spark, sqlstates

PAGE = REFERENCE / "errors.md"
NOTES = REFERENCE / "errors.toml"
MARKER = "conditions"
#: The classes of SQLSTATE that conditions have.
CLASSES = {
    "07": "dynamic SQL error",
    "08": "connection exception",
    "0A": "feature not supported",
    "21": "cardinality violation",
    "22": "data exception: a value does not fit",
    "23": "integrity constraint violation",
    "25": "invalid transaction state",
    "2B": "dependent objects still exist",
    "38": "an error of a function of the user",
    "40": "transaction rollback: run the transaction again",
    "42": "syntax error or access rule violation: names, types, clauses",
    "53": "insufficient resources",
    "54": "limit exceeded",
    "58": "error of the operating system",
    "HY": "condition of the call interface",
    "KD": "datasource specific errors of Spark",
    "P0": "an error that the query raises itself",
    "XX": "internal error",
}
#: Pages whose golden cases show errors.
_EXAMPLES = [REFERENCE / "dialect.md", *sorted((REFERENCE / "dialect").glob("*.md")), REFERENCE / "semantics.md"]


@dataclass(frozen=True)
class Note:
    """When a condition is raised and what to do, as written by hand. ``kind`` is a Python class."""

    when: str
    action: str
    kind: str
    has_forms: bool


@cache
def notes() -> dict[str, Note]:
    """Returns the notes by condition."""
    stored = tomllib.loads(NOTES.read_text(encoding="utf-8"))
    return {
        name: Note(entry["when"], entry.get("do", ""), entry.get("class", ""), entry.get("forms", True))
        for name, entry in stored.items()
    }


@cache
def forms_of() -> dict[str, list[Form]]:
    """Returns the forms by condition, without its more specific name."""
    found: dict[str, list[Form]] = {}
    for form in forms():
        found.setdefault(form.main, []).append(form)
    return found


def conditions() -> str:
    """Returns the generated part of the page."""
    states = sqlstates()
    letters = sorted({name[0] for name in states})
    parts = [
        _by_class(states),
        "## Conditions by name\n\n" + " · ".join(f"[{letter}](#{letter.lower()})" for letter in letters) + "\n",
    ]
    for letter in letters:
        parts.append(f"## {letter}\n")
        parts += [_section(name, states[name]) for name in sorted(states) if name[0] == letter]
    return "\n" + "\n".join(parts) + "\n"


def _by_class(states: dict[str, str]) -> str:
    rows = []
    for prefix, meaning in CLASSES.items():
        names = [name for name, state in sorted(states.items()) if state.startswith(prefix)]
        rows.append((f"`{prefix}`", meaning, ", ".join(f"[{name}](#{anchor(name)})" for name in names)))
    return "## Conditions by SQLSTATE\n\n" + table(("class", "meaning", "conditions"), rows)


def _section(name: str, state: str) -> str:
    note, found = notes()[name], forms_of().get(name, [])
    kinds = sorted({form.kind for form in found} | ({note.kind} if note.kind else set()))
    facts = [" or ".join(f"`{kind}`" for kind in kinds), f"SQLSTATE `{state}`" if state else "no SQLSTATE"]
    facts += ["a condition of Spark"] if name in spark() else []
    lines = [f"### {name}", "", f"{', '.join(facts)}. **When:** {note.when.rstrip('.')}.", ""]
    hints = {form.hint for form in found}
    shown = found if note.has_forms else []
    common = hints.pop() if len(hints) == 1 and shown else ""
    if is_computed(common):
        common = ""
    action = " ".join(filter(None, (note.action, plain(_sentence(common)))))
    if action:
        lines += [f"**What to do:** {action}", ""]
    lines += list(_messages(shown, with_hints=not common))
    lines += [text for text in (_more_specific(name), _example(name)) if text]
    return "\n".join(lines).rstrip() + "\n"


def _sentence(text: str) -> str:
    """Returns a hint as a sentence."""
    if text.startswith("rewriter "):
        return text
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", ":", "?", "!")) or not text else ".")


def _messages(found: list[Form], *, with_hints: bool) -> Iterator[str]:
    with_hints = with_hints and not all(is_computed(form.hint) for form in found)
    messages = list(dict.fromkeys(form.message for form in found))
    if len(messages) == 1 and not with_hints:
        yield f"**Message:** {code(messages[0])}\n"
    elif found and with_hints:
        yield table(("message", "what to do"), list(_rows(found)))
    elif found:
        yield "".join(f"- {code(message)}\n" for message in messages)


def _rows(found: list[Form]) -> Iterator[tuple[str, str]]:
    """Yields a row for all messages that have the same hints."""
    hints: dict[str, list[str]] = {}
    for form in found:
        listed = hints.setdefault(form.message, [])
        if not is_computed(form.hint) and form.hint not in listed:
            listed.append(form.hint)
    messages: dict[tuple[str, ...], list[str]] = {}
    for message, listed in hints.items():
        messages.setdefault(tuple(listed), []).append(message)
    for listed_hints, same in messages.items():
        # Messages without a hint have nothing in common.
        for group in [same] if listed_hints else [[message] for message in same]:
            yield "<br>".join(map(code, group)), "<br>".join(plain(_sentence(hint)) for hint in listed_hints)


def _more_specific(name: str) -> str:
    """Returns the more specific names of a condition."""
    subs = {error.condition.partition(".")[2] for error in raised() if error.main == name}
    subs |= {form.sub for form in forms_of().get(name, [])}
    listed = sorted(sub for sub in subs if re.fullmatch(r"[A-Z0-9_]+", sub))
    return f"More specific: {', '.join(f'`{name}.{sub}`' for sub in listed)}.\n" if listed else ""


def _example(name: str) -> str:
    """Returns a link to a section that shows the error."""
    found = _examples().get(name)
    if found is None:
        return ""
    page, heading = found
    return f"Example: [{heading}]({page.relative_to(PAGE.parent).as_posix()}#{anchor(heading)})\n"


@cache
def _examples() -> dict[str, tuple[Path, str]]:
    """Returns the first section with an example of each condition: its page and its heading."""
    found: dict[str, tuple[Path, str]] = {}
    for page in _EXAMPLES:
        heading, is_inside = "", False
        for line in page.read_text(encoding="utf-8").splitlines():
            if line.startswith("```"):
                is_inside = not is_inside
            elif line.startswith("#") and not is_inside:
                heading = line.lstrip("#").strip()
            elif match := re.match(r"Error: \[([A-Z0-9_]+)", line):
                found.setdefault(match[1], (page, heading))
    return found


def unexplained_classes() -> list[str]:
    """Returns the classes of SQLSTATE that a condition has and the page does not explain."""
    return sorted({state[:2] for state in sqlstates().values() if state} - CLASSES.keys())
