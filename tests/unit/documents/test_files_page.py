"""docs/reference/files.md names each file and directory that the source makes under a name of its own."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import rewriter
from rewriter.catalog.commit import exposures
from rewriter.catalog.keys import directory_moves
from rewriter.catalog.keys.values import DEFAULT_PARTITION, LONGEST_NAME, escape
from rewriter.catalog.maintenance import warehouse_identity
from rewriter.catalog.model.objects import WRITE_ID_LEVEL
from rewriter.catalog.storage import stream_checkpoints
from rewriter.catalog.store.sqlite import _LOG_SUFFIXES
from rewriter.cli import demo
from rewriter.data_formats import DATA_FORMATS as FORMATS
from rewriter.exec.sinks import held_rows, packed
from rewriter.metastore.service.calls import files
from rewriter.runtime import profiles, temporary_tables
from rewriter.scratch_directories import PREFIX
from rewriter.shell.configuration import history_path
from rewriter.statements.write.insert import STAGING
from rewriter.statements.write.multi_insert import SOURCE

SOURCES = Path(rewriter.__file__).parent
PAGE = (SOURCES.parent / "docs" / "reference" / "files.md").read_text(encoding="utf-8")
_TEMPORARY = ("mkdtemp", "mkstemp", "TemporaryDirectory", "NamedTemporaryFile")
#: Files inside a directory that the page names.
_INSIDE = {"scan-", "write-"}


def test_each_constant_is_on_the_page() -> None:
    names = [
        warehouse_identity.IDENTITY_FILE,
        warehouse_identity.FILE_NAME,
        *(f"{warehouse_identity.FILE_NAME}{suffix}" for suffix in (*_LOG_SUFFIXES, "-journal")),
        f"{WRITE_ID_LEVEL}=",
        DEFAULT_PARTITION,
        f"{exposures.FOLDER}/‹id›/{exposures.NOTHING}/",
        temporary_tables._PREFIX,
        temporary_tables._OWNER,
        f"{files._FOLDER}/",
        STAGING,
        SOURCE,
        directory_moves._MARKER,
        demo._MARKER,
        stream_checkpoints._MARKER,
        f"{stream_checkpoints._BATCHES}/{stream_checkpoints._name(0)}",
        profiles.FILE_NAME,
        *(str(history_path({"XDG_STATE_HOME": "/x"})).replace("/x", "$XDG_STATE_HOME"),),
        *(f"`{format}`" for format in FORMATS),
    ]
    assert [name for name in names if name not in PAGE] == []


def test_each_temporary_name_in_the_source_is_on_the_page() -> None:
    names = {name for path in SOURCES.rglob("*.py") for name in _names(ast.parse(path.read_text(encoding="utf-8")))}
    assert names >= {"rewriter-scratch-duckdb-", "rewriter-scratch-transaction-", ".rewriter-doctor-"}
    assert sorted(name for name in names - _INSIDE if name not in PAGE) == []


def test_the_escaped_characters_are_those_of_the_page() -> None:
    escaped = {character for character in map(chr, range(1, 128)) if escape(character) != character}
    listed = PAGE.partition("and ``")[2].partition("`` are written")[0]
    assert escaped == {chr(number) for number in range(1, 32)} | {"\x7f"} | set(listed)


def test_the_numbers_are_those_of_the_page() -> None:
    assert f"at most {LONGEST_NAME} bytes" in PAGE
    assert f"at most {held_rows.MOST_HELD_ROWS:,} rows or {held_rows.MOST_HELD_BYTES >> 20} MiB" in PAGE
    assert f"{packed.GROUP_ROWS:,} rows" in PAGE


def _names(tree: ast.Module) -> Iterator[str]:
    """Yields the beginnings of names that a module makes: prefixes of temporary files, kinds of scratch directories,
    and other texts that begin with ``.rewriter-``.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            prefixes = [_beginning(keyword.value) for keyword in node.keywords if keyword.arg == "prefix"]
            if called in _TEMPORARY:
                yield from (prefix for prefix in prefixes if prefix is not None)
            elif called == "ScratchDirectory" and node.args:
                yield f"{PREFIX}{_beginning(node.args[0])}-"
        elif isinstance(node, ast.Constant | ast.JoinedStr):
            text = _beginning(node)
            if text is not None and text.startswith(".rewriter-"):
                yield text


def _beginning(node: ast.expr) -> str | None:
    """Returns the text of a constant, or the constant text in front of the first computed part."""
    if isinstance(node, ast.JoinedStr) and node.values:
        return _beginning(node.values[0])
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
