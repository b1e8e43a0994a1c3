"""CSV and TSV of Arrow batches, column by column: the text of ``rendering``, in a tenth of the time.

Values whose text Arrow writes otherwise (huge and tiny floats, decimals of a large scale, nested values) become Python
values first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from rewriter.display.terminal.rendering import rendered, text_of
from rewriter.runtime.result import python_values

if TYPE_CHECKING:
    import pyarrow as pa

FORMATS = ("csv", "tsv")
#: The rows of one chunk of text.
_ROWS = 16_384
#: The scale up to which Arrow writes all decimals without an exponent.
_PLAIN_SCALE = 6
#: Arrow and Python write floats of these sizes with the same digits, and without an exponent.
_LEAST_PLAIN, _MOST_PLAIN = 1e-4, 1e10


def chunks(
    names: Sequence[str], batches: Iterable[pa.RecordBatch], form: str, null: str | None = None
) -> Iterator[str]:
    """Yields text with its line breaks: the header, then the rows. Holds one batch at a time.

    Raises ``DataError`` for values that Python has not, as ``Result.rows`` does.
    """
    yield "".join(f"{line}\n" for line in rendered(names, (), form, null))
    null_text = (r"\N" if form == "tsv" else "") if null is None else null
    for batch in batches:
        for start in range(0, batch.num_rows, _ROWS):
            yield _chunk(batch.slice(start, _ROWS), form, null_text)


def _chunk(batch: pa.RecordBatch, form: str, null: str) -> str:
    import pyarrow.compute as pc

    if not batch.num_columns:
        return "\n" * int(batch.num_rows)
    fields = [_fields(column, form, null) for column in batch.columns]
    lines = fields[0]
    if len(fields) > 1:
        lines = pc.binary_join_element_wise(*fields, _large("," if form == "csv" else "\t"))
    lines = pc.binary_join_element_wise(lines, _large("\n"), _large(""))
    values: bytes = lines.buffers()[2].to_pybytes()
    return values.decode()  # The values of an array stand side by side.


def _fields(column: pa.Array, form: str, null: str) -> pa.Array:
    """Returns the fields of a column as large strings without nulls."""
    import pyarrow.compute as pc

    texts = _texts(column)
    if _has_plain_text(column.type) and (not null or form == "tsv"):
        pass
    elif form == "csv":
        is_empty = pc.or_(pc.equal(texts, ""), pc.equal(texts, null))
        is_quoted = pc.or_(pc.match_substring_regex(texts, '[,"\r\n]'), is_empty)
        if pc.any(is_quoted).as_py():
            doubled = pc.replace_substring(texts, '"', '""')
            texts = pc.if_else(
                is_quoted, pc.binary_join_element_wise(_large('"'), doubled, _large('"'), _large("")), texts
            )
    else:
        for char, escape in (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r")):
            texts = pc.replace_substring(texts, char, escape)
    return pc.fill_null(texts, _large(null))


def _large(text: str) -> pa.Scalar:
    import pyarrow as pa

    return pa.scalar(text, pa.large_string())


def _has_plain_text(type_: pa.DataType) -> bool:
    """Tests whether no value of the type needs quotes or escapes."""
    import pyarrow as pa

    is_ = pa.types
    checks = (is_.is_integer, is_.is_boolean, is_.is_floating, is_.is_decimal, is_.is_timestamp, is_.is_date)
    return any(check(type_) for check in checks)


def _texts(column: pa.Array) -> pa.Array:
    """Returns the texts of ``rendering.text_of``, as large strings; nulls stay."""
    import pyarrow as pa
    import pyarrow.compute as pc

    is_, type_ = pa.types, column.type
    if is_.is_string(type_) or is_.is_large_string(type_):
        return column.cast(pa.large_string())
    if is_.is_integer(type_) or is_.is_boolean(type_):
        return column.cast(pa.large_string())
    if is_.is_decimal(type_) and 0 <= type_.scale <= _PLAIN_SCALE:
        return column.cast(pa.large_string())
    if is_.is_float32(type_) or is_.is_float64(type_):
        return _float_texts(column.cast(pa.float64()))
    if is_.is_date32(type_):
        python_values(_extremes(column))  # Raises for years that Python has not.
        return column.cast(pa.large_string())
    if is_.is_timestamp(type_) and type_.unit == "us":
        python_values(_extremes(column))
        texts = column.view(pa.int64()).view(pa.timestamp("us")).cast(pa.large_string())
        return pc.utf8_rtrim(pc.utf8_rtrim(texts, "0"), ".")
    return pa.array([None if value is None else text_of(value) for value in python_values(column)], pa.large_string())


def _float_texts(column: pa.Array) -> pa.Array:
    """Returns the texts of a column of ``DOUBLE``.

    Both Arrow and Python write the shortest digits that give the same number. Arrow omits ``.0`` of whole numbers, and
    begins with exponents at other sizes.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    size = pc.abs(column)
    is_plain = pc.and_(pc.greater_equal(size, _LEAST_PLAIN), pc.less(size, _MOST_PLAIN))
    is_plain = pc.fill_null(pc.or_(is_plain, pc.equal(size, 0.0)), True)
    texts = column.cast(pa.large_string())
    is_whole = pc.equal(pc.trunc(column), column)
    if pc.any(is_whole).as_py():
        texts = pc.if_else(is_whole, pc.binary_join_element_wise(texts, _large(".0"), _large("")), texts)
    is_other = pc.invert(is_plain)
    others = [text_of(value) for value in column.filter(is_other).to_pylist()]
    return pc.replace_with_mask(texts, is_other, pa.array(others, pa.large_string())) if others else texts


def _extremes(column: pa.Array) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.null_count == len(column):
        return column.slice(0, 0)
    extremes = pc.min_max(column)
    return pa.array([extremes["min"], extremes["max"]], column.type)
