"""The compiled grammar: from a file of the package, because compiling takes longer than most statements.

``python -m rewriter.grammar.stored_grammar`` writes the file anew after a change of a rule. Until then, the first
statement of each process compiles the grammar.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from rewriter.grammar.dialect_rules import dialect_rules

STORED = files("rewriter.grammar").joinpath("dialect_tables.json")


def stored_grammar(rules: str) -> Mapping[str, Any]:
    """Returns the result of ``compile_grammar.compiled`` for the rules: from the file, if it was written for them."""
    try:
        stored: dict[str, Any] = json.loads(STORED.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        stored = {}
    if stored.get("fingerprint") == _fingerprint(rules):
        return stored
    return _compiled(rules)


def grammar_text() -> str:
    """Returns the text of the file for the dialect's rules, the same in each process."""
    rules = dialect_rules()
    return json.dumps({"fingerprint": _fingerprint(rules), **_compiled(rules)}, separators=(",", ":")) + "\n"


def _fingerprint(rules: str) -> str:
    """Returns the hash that distinguishes grammars."""
    return hashlib.sha256(rules.encode()).hexdigest()


def _compiled(rules: str) -> dict[str, Any]:
    # Lark is loaded here: the file spares its import, too.
    from rewriter.grammar.compile_grammar import compiled

    return compiled(rules)


if __name__ == "__main__":
    Path(str(STORED)).write_text(grammar_text(), encoding="utf-8")
