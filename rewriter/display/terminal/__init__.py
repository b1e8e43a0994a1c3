"""Results, covers and progress as text for terminals."""

#: The formats in which rows are written. Every command imports them: this module loads nothing.
FORMATS = ("table", "vertical", "csv", "tsv", "json", "jsonl", "envelope", "markdown")
#: The formats whose lines are unchanged data; the lines of the others act on no terminal.
RAW_FORMATS = ("csv", "tsv")
