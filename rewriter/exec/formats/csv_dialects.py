"""The options of CSV files: those of Spark's source, and the properties of Hive's OpenCSVSerde.

They become a ``CsvDialect``. A name or a value that is not known is an error, which lists the known ones. Workers of
Spark run this code: it uses nothing outside this folder.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rewriter.exec.formats.time_patterns import TimeSpelling, time_spelling

#: The option that states Hive's class of rows, OpenCSVSerde, with its value.
SERDE, OPEN_CSV = "serde", "opencsv"
#: The lines at the beginning of each file that Hive skips.
SKIPPED_LINES = "skip.header.line.count"
#: Codecs of files that are written, by the ending of their names.
ENDINGS = {"none": "", "gzip": ".gz", "bzip2": ".bz2"}
_OTHER_NAMES = {"delimiter": "sep", "charset": "encoding", "codec": "compression"}
_CODECS = {"uncompressed": "none"}
_ENCODINGS = ("UTF-8", "ISO-8859-1", "US-ASCII")
_TAB = {"\\t": "\t"}


class CsvOptionError(ValueError):
    """An option of CSV files that is not supported: its name, the reason, and the hint."""

    def __init__(self, option: str, reason: str, hint: str) -> None:
        super().__init__(f"The CSV option {option} {reason}")
        self.option = option
        self.hint = hint


@dataclass(frozen=True)
class CsvDialect:
    """How the rows of CSV files are spelled; the defaults are those of Spark.

    ``quote`` is ``None`` where nothing is quoted. An ``escape`` that is the quote doubles it. ``null`` is a further
    text of NULL beside the empty field. ``empty`` is the text of a quoted empty field, and the written text of an empty
    value; ``None`` is Spark's: an empty text, and ``""``. ``trims_left`` and ``trims_right`` remove blanks around
    values; ``None`` is Spark's: from those that are written only. With ``ignores_names``, the header may have other
    names than the columns.

    Rows of ``is_hives`` have the rules of OpenCSVSerde: lacking fields are NULL, surplus ones are ignored, and no other
    field is NULL. Its ``written_escape`` may differ from the one that it reads.
    """

    separator: str = ","
    quote: str | None = '"'
    escape: str = "\\"
    comment: str | None = None
    header: bool = False
    skipped_lines: int = 0
    null: str = ""
    empty: str | None = None
    encoding: str = "UTF-8"
    multi_line: bool = False
    trims_left: bool | None = None
    trims_right: bool | None = None
    date: TimeSpelling | None = None
    timestamp: TimeSpelling | None = None
    quotes_all: bool = False
    escapes_quotes: bool = True
    compression: str = "none"
    ignores_names: bool = False
    is_hives: bool = False
    written_escape: str | None = None


def has_dialect(options: Mapping[str, str]) -> bool:
    """Tests whether options state a dialect. Files without one have a header, and double the quotes within quotes."""
    return any(name != "delimiter" for name in options)


def spark_csv_options(options: Mapping[str, str]) -> dict[str, str]:
    """Returns options of Spark's source under one name each, in lower case, checked.

    Raises ``CsvOptionError``.

    >>> spark_csv_options({"Delimiter": ";", "header": "TRUE"})
    {'sep': ';', 'header': 'TRUE'}
    """
    checked: dict[str, str] = {}
    for option, value in options.items():
        name = _OTHER_NAMES.get(option.lower(), option.lower())
        if name not in _SPARK:
            known_names = ", ".join(spelling for spelling, _ in _SPARK.values())
            raise CsvOptionError(option, "is not supported", f"The options of CSV are {known_names}.")
        if checked.get(name, value) != value:
            raise CsvOptionError(option, "has two values", "State it once.")
        checked[name] = value
    csv_dialect(checked)
    return checked


def open_csv_options(properties: Mapping[str, str]) -> dict[str, str]:
    """Returns the options of a table of OpenCSVSerde with these properties, checked. Raises ``CsvOptionError``."""
    checked = {SERDE: OPEN_CSV}
    for option, value in properties.items():
        name = option.lower()
        if name == "serialization.format":
            continue
        if name not in _OPEN_CSV:
            raise CsvOptionError(option, "is not supported", f"OpenCSVSerde has {', '.join(_OPEN_CSV.values())}.")
        checked[name] = value
    csv_dialect(checked)
    return checked


def shown_options(options: Mapping[str, str]) -> dict[str, str]:
    """Returns options with names as users write them, without the class of rows and the skipped lines.

    >>> shown_options({"serde": "opencsv", "quotechar": "'"})
    {'quoteChar': "'"}
    """
    spellings = {name: spelling for name, (spelling, _) in _SPARK.items()} | _OPEN_CSV
    return {spellings[name]: value for name, value in options.items() if name not in (SERDE, SKIPPED_LINES)}


def csv_dialect(options: Mapping[str, str]) -> CsvDialect:
    """Returns the dialect of options with names as ``spark_csv_options`` and ``open_csv_options`` return them.

    Raises ``CsvOptionError`` for a value that is not supported.
    """
    if options.get(SERDE) == OPEN_CSV:
        return _open_csv(options)
    fields: dict[str, object] = {}
    for name, value in options.items():
        if name == SKIPPED_LINES:
            continue
        spelling, read = _SPARK[name]
        fields |= read(spelling, value)
    dialect = CsvDialect(**fields, skipped_lines=skipped_lines(options))  # type: ignore[arg-type]
    _check_together(dialect)
    return dialect


def skipped_lines(options: Mapping[str, str]) -> int:
    """Returns how many lines Hive skips at the beginning of a file. Raises ``CsvOptionError``."""
    text = options.get(SKIPPED_LINES, "0").strip()
    if not (text.isascii() and text.isdigit()):
        raise CsvOptionError(SKIPPED_LINES, f"has the value '{text}'", "It is a number: '1'.")
    return int(text)


def skipped_line(names: Sequence[str]) -> str:
    """Returns a line of a written file that Hive skips: the names of the columns."""
    return re.sub(r"[\r\n]", " ", ",".join(names)) + "\n"


def _check_together(dialect: CsvDialect) -> None:
    marks = [("sep", dialect.separator), ("quote", dialect.quote), ("comment", dialect.comment)]
    if dialect.escape != dialect.quote:
        marks.append(("escape", dialect.escape))
    seen: set[str] = set()
    for option, mark in marks:
        if mark is not None and mark in seen:
            raise CsvOptionError(option, f"is '{mark}', as another option is", "Choose different characters.")
        if mark is not None:
            seen.add(mark)
    if dialect.comment is not None and dialect.multi_line:
        raise CsvOptionError("comment", "is not supported with multiLine", "Omit one of them.")
    for option, text in (("nullValue", dialect.null), ("emptyValue", dialect.empty or "")):
        if option == "emptyValue" and text == (dialect.quote or "") * 2:
            continue
        # The escape character has a meaning between quotes alone.
        marks_in_text = {dialect.separator, dialect.quote or "", dialect.comment or "", "\n", "\r"} - {""}
        if text != text.strip(_BLANKS) or any(mark in text for mark in marks_in_text):
            raise CsvOptionError(
                option, "has blanks around it, or a character of the other options", "Choose another text: '\\N'."
            )
    if dialect.encoding != "UTF-8" and dialect.multi_line:
        raise CsvOptionError("encoding", "is not supported with multiLine", "Omit one of them.")


#: Blanks as Spark removes them.
_BLANKS = "".join(map(chr, range(33)))


def _character(option: str, value: str) -> str:
    value = _TAB.get(value, value)
    if len(value) != 1 or value in "\r\n\0":
        raise CsvOptionError(option, f"has the value '{value}'", "It is one character, and not the end of a line.")
    return value


def _of(field: str, read: Callable[[str, str], object]) -> Callable[[str, str], dict[str, object]]:
    return lambda option, value: {field: read(option, value)}


def _flag(option: str, value: str) -> bool:
    if value.lower() not in ("true", "false"):
        raise CsvOptionError(option, f"has the value '{value}'", "It is true or false.")
    return value.lower() == "true"


def _only(option: str, value: str, *texts: str) -> dict[str, object]:
    if value.lower() not in [text.lower() for text in texts]:
        shown = value.replace("\n", "\\n").replace("\r", "\\r")
        raise CsvOptionError(option, f"has the value '{shown}'", f"Only {', '.join(map(repr, texts))} is supported.")
    return {}


def _optional_character(option: str, value: str) -> str | None:
    return None if value == "" else _character(option, value)


def _one_of(choices: tuple[str, ...]) -> Callable[[str, str], str]:
    def read(option: str, value: str) -> str:
        choice = next((name for name in choices if name.lower() == _CODECS.get(value.lower(), value.lower())), None)
        if choice is None:
            raise CsvOptionError(
                option, f"has the value '{value}'", f"It is {', '.join(choices[:-1])} or {choices[-1]}."
            )
        return choice

    return read


def _pattern(is_date: bool) -> Callable[[str, str], TimeSpelling]:
    def read(option: str, value: str) -> TimeSpelling:
        try:
            return time_spelling(value, is_date)
        except ValueError as error:
            raise CsvOptionError(option, f"has the pattern '{value}'", str(error)) from None

    return read


#: Options of Spark by their names in lower case: the usual spelling, and what fields they give.
_SPARK: Mapping[str, tuple[str, Callable[[str, str], dict[str, object]]]] = {
    "sep": ("sep", _of("separator", _character)),
    "quote": ("quote", _of("quote", _optional_character)),
    "escape": ("escape", _of("escape", _character)),
    "comment": ("comment", _of("comment", _optional_character)),
    "header": ("header", _of("header", _flag)),
    "nullvalue": ("nullValue", _of("null", lambda option, value: value)),
    "emptyvalue": ("emptyValue", _of("empty", lambda option, value: value)),
    "encoding": ("encoding", _of("encoding", _one_of(_ENCODINGS))),
    "multiline": ("multiLine", _of("multi_line", _flag)),
    "ignoreleadingwhitespace": ("ignoreLeadingWhiteSpace", _of("trims_left", _flag)),
    "ignoretrailingwhitespace": ("ignoreTrailingWhiteSpace", _of("trims_right", _flag)),
    "dateformat": ("dateFormat", _of("date", _pattern(True))),
    "timestampformat": ("timestampFormat", _of("timestamp", _pattern(False))),
    "quoteall": ("quoteAll", _of("quotes_all", _flag)),
    "escapequotes": ("escapeQuotes", _of("escapes_quotes", _flag)),
    "compression": ("compression", _of("compression", _one_of(tuple(ENDINGS)))),
    "enforceschema": ("enforceSchema", _of("ignores_names", _flag)),
    "mode": ("mode", lambda option, value: _only(option, value, "FAILFAST")),
    "linesep": ("lineSep", lambda option, value: _only(option, value, "\n")),
    "inferschema": ("inferSchema", lambda option, value: _only(option, value, "false")),
}
#: Properties of OpenCSVSerde by their names in lower case.
_OPEN_CSV = {
    "separatorchar": "separatorChar",
    "quotechar": "quoteChar",
    "escapechar": "escapeChar",
    SKIPPED_LINES: SKIPPED_LINES,
}


def _open_csv(options: Mapping[str, str]) -> CsvDialect:
    separator, quote, escape = (
        _character(_OPEN_CSV[name], options.get(name, default))
        for name, default in (("separatorchar", ","), ("quotechar", '"'), ("escapechar", '"'))
    )
    dialect = CsvDialect(
        separator,
        quote,
        # Hive's reader takes its own default for the writer's default.
        "\\" if escape == '"' else escape,
        skipped_lines=skipped_lines(options),
        is_hives=True,
        written_escape=escape,
    )
    _check_together(dialect)
    return dialect
