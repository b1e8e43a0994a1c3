"""The names of the formats in which rows are written. This module loads nothing, as every command imports it."""

FORMATS = ("table", "vertical", "csv", "tsv", "json", "jsonl", "envelope", "markdown")
#: The formats whose lines are unchanged data; the lines of the others act on no terminal.
RAW_FORMATS = ("csv", "tsv")
