"""ROW FORMAT DELIMITED: the separators of a text file, checked as Hive would take them."""

from __future__ import annotations

from collections.abc import Mapping

from rewriter import data_formats as formats
from rewriter.errors import NotSupportedError, Span
from rewriter.lazy_dataclass import dataclass

#: The name of the format of Hive's text files.
TEXTFILE = formats.TEXTFILE.name


@dataclass(frozen=True)
class RowFormat:
    """One row a line: the separator of its fields, the character that escapes others, and the text of NULL."""

    field: str = "\x01"
    escape: str | None = None
    null: str = "\\N"


def checked_row_format(texts: Mapping[str, str], spans: Mapping[str, Span]) -> RowFormat:
    """Returns the row format of the clauses, by their names. Raises ``NotSupportedError`` for one that not every reader
    takes alike.
    """
    row_format = RowFormat(
        _character("FIELDS TERMINATED BY", texts, spans) or RowFormat.field,
        _character("ESCAPED BY", texts, spans),
        texts.get("NULL DEFINED AS", RowFormat.null),
    )
    if texts.get("LINES TERMINATED BY", "\n") not in ("\n", "10"):
        raise _refused("LINES TERMINATED BY", "Hive only has lines that end with a line feed.", spans, "'\\n'")
    field, escape, null = row_format.field, row_format.escape, row_format.null
    if escape == field or (escape is not None and escape in "nr"):
        raise _refused("ESCAPED BY", "This character has another meaning in the files.", spans, "'\\\\'")
    if escape is not None and field in "nr":
        reason = f"Behind the escape character, {field} is the end of a line."
        raise _refused("FIELDS TERMINATED BY", reason, spans, "'\\t'")
    is_escaped = escape is not None and escape in null and not (len(null) == 2 and null[0] == escape != null[1])
    if is_escaped or any(character in null for character in (field, "\n", "\r")):
        reason = "The text of NULL would not be one field of a line."
        raise _refused("NULL DEFINED AS", reason, spans, "'\\\\N'")
    return row_format


def _character(clause: str, texts: Mapping[str, str], spans: Mapping[str, Span]) -> str | None:
    """Returns the character that a clause names, also by its number, as in Hive."""
    text = texts.get(clause)
    if text is None:
        return None
    if text.isascii() and text.isdigit() and int(text) < 128:
        text = chr(int(text))
    if len(text) != 1 or not text.isascii() or text in "\r\n\0":
        raise _refused(clause, "It must be one ASCII character, and not the end of a line.", spans, "'\\t'")
    return text


def _refused(clause: str, reason: str, spans: Mapping[str, Span], example: str) -> NotSupportedError:
    return NotSupportedError(
        f"This {clause} is not supported. {reason}",
        position=spans.get(clause, next(iter(spans.values()))),
        hint=f"Write {clause} {example}.",
    )
