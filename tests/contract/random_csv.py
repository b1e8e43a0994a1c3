"""Random CSV files, damaged ones among them, with random options of Spark's source."""

from __future__ import annotations

import random
from collections.abc import Sequence

#: The columns of the files: name and type.
COLUMNS = ("a string", "i int", "d double", "f date", "g timestamp", "b boolean", "n decimal(5,2)")
_DATES = {"dd/MM/yyyy": "03/02/2021", "yyyyMMdd": "20210203", "d.M.yyyy": "3.2.2021"}
_TIMES = {
    "yyyy-MM-dd HH:mm:ss": "2021-02-03 04:05:06",
    "yyyyMMddHHmmss": "20210203040506",
    "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX": "2021-02-03T04:05:06.123+01:00",
    "dd/MM/yyyy H:m:s.S X": "03/02/2021 4:05:6.5 -03",
}
_CHOICES: Sequence[tuple[str, float, tuple[str, ...]]] = (
    ("sep", 0.5, (";", "\t", "|", ",", " ")),
    ("quote", 0.2, ("'", "|", "")),
    ("escape", 0.4, ('"', "#", "'", "\\")),
    ("header", 0.3, ("true", "false")),
    ("nullValue", 0.3, ("\\N", "NA", "-", "")),
    ("emptyValue", 0.3, ("E", "", "-")),
    ("ignoreLeadingWhiteSpace", 0.25, ("true", "false")),
    ("ignoreTrailingWhiteSpace", 0.25, ("true", "false")),
    ("comment", 0.2, ("#", "a")),
    ("encoding", 0.2, ("UTF-8", "ISO-8859-1", "US-ASCII")),
    ("dateFormat", 0.3, tuple(_DATES)),
    ("timestampFormat", 0.3, tuple(_TIMES)),
)
_OF_READERS = (("multiLine", 0.4, ("true",)),)
_OF_WRITERS = (("quoteAll", 0.2, ("true",)), ("escapeQuotes", 0.2, ("false",)))


def random_options(chance: random.Random, is_read: bool) -> dict[str, str]:
    """Returns options of a file that is read, or of one that is written; some do not go together."""
    choices = (*_CHOICES, *(_OF_READERS if is_read else _OF_WRITERS))
    return {name: chance.choice(values) for name, probability, values in choices if chance.random() < probability}


def random_columns(chance: random.Random) -> list[str]:
    """Returns the declarations of two or more columns, or of one."""
    return [COLUMNS[0]] if chance.random() < 0.15 else chance.sample(COLUMNS, chance.randint(2, len(COLUMNS)))


def random_file(chance: random.Random, options: dict[str, str], columns: Sequence[str]) -> bytes:
    """Returns the bytes of a file for these columns; about one in three is damaged."""
    separator = options.get("sep", ",")
    end = "\n" if chance.random() < 0.75 else chance.choice(["\r\n", "\r"])
    lines = []
    if options.get("header") == "true":
        lines.append(separator.join(column.split()[0] for column in columns) if chance.random() < 0.95 else "z")
    for _ in range(chance.randint(0, 5)):
        fields = [_field(chance, options, column) for column in columns]
        if chance.random() < 0.01:
            fields.pop()
        if chance.random() < 0.01:
            fields.append("x")
        lines.append(separator.join(fields))
        if chance.random() < 0.05:
            lines.append(chance.choice(["", "  ", "\t", "#c", "ab"]))
    text = end.join(lines) + (end if chance.random() < 0.8 else "")
    encoding = options.get("encoding", "UTF-8") if chance.random() < 0.9 else "ISO-8859-1"
    return (b"\xef\xbb\xbf" if chance.random() < 0.1 else b"") + text.encode(encoding, "replace")


def random_text(chance: random.Random) -> str | None:
    """Returns a value of a STRING column, with characters that mean something in CSV."""
    if chance.random() < 0.15:
        return None
    return "".join(chance.choice("abc ,;\"'\\\n\r\t#|xé \x01N-") for _ in range(chance.choice([0, 0, 1, 1, 2, 3, 6])))


def _field(chance: random.Random, options: dict[str, str], column: str) -> str:
    quote, escape, separator = options.get("quote") or '"', options.get("escape", "\\"), options.get("sep", ",")
    text = _value(chance, options, column, quote, escape, separator)
    must_quote = any(character in text for character in (separator, "\n", "\r", quote))
    if chance.random() < 0.35 or (must_quote and chance.random() < 0.9):
        inner = text if escape == quote else text.replace(escape, escape * 2)
        text = quote + inner.replace(quote, (escape if escape != quote else quote) + quote) + quote
        if chance.random() < 0.02:
            text = chance.choice([f" {text}", f"{text} ", f"{text}x", text[:-1], text.replace(quote, "", 1)])
    return text


def _value(chance: random.Random, options: dict[str, str], column: str, quote: str, escape: str, separator: str) -> str:
    is_odd = chance.random() < 0.06
    match (chance.choice(COLUMNS) if chance.random() < 0.01 else column).split()[1]:
        case "int":
            return chance.choice(["", "007", "2345678901", "1.0", " 3", "+4"] if is_odd else ["1", "22", "-3"])
        case "double":
            odd = ["NaN", "Inf", "-Inf", "1e3", ".5", "5.", "x", " 1 ", "1,5", "inf", "+1"]
            return chance.choice(odd if is_odd else ["1.5", "2", "-0.0"])
        case "date":
            odd = ["2020-01-02", "02/01/2020", "2.1.2020", "2020", "31/02/2020", ""]
            return chance.choice(odd) if is_odd else _DATES.get(options.get("dateFormat", ""), "2021-02-03")
        case "timestamp":
            plain = chance.choice(["2021-02-03 04:05:06.789", "2021-02-03T04:05:00Z"])
            return "yesterday" if is_odd else _TIMES.get(options.get("timestampFormat", ""), plain)
        case "boolean":
            return chance.choice(["t", "1", "yes", ""] if is_odd else ["true", "FALSE", "false"])
        case "decimal(5,2)":
            return chance.choice(["1000", "1,5", "1.005", "1e2", " 1", ""] if is_odd else ["1.25", "-0.1", "999.99"])
    pieces = ["a", "b", " ", "\t", "NA", "-", "\\N", "E", "'", quote, escape, "#", "\\", separator, "é"]
    has_lines = options.get("multiLine") == "true"
    pieces.append("\n" if chance.random() < (0.4 if has_lines else 0.02) else "x")
    pieces.append("\r" if chance.random() < 0.05 else "\x00" if chance.random() < 0.05 else "z")
    return "".join(chance.choice(pieces) for _ in range(chance.choice([0, 1, 1, 2, 3, 5])))
