"""The types of Arrow data in which only NULLs occur: ``null``, ``list<null>``, ``struct<a: null>``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewriter.errors import NotSupportedError
from rewriter.exec.sql_types import arrow_type, decimal, parse_type
from rewriter.statements.resolve.type_trees import TypeTree

if TYPE_CHECKING:
    import pyarrow as pa


def with_types(type_: pa.DataType, declared: TypeTree) -> pa.DataType:
    """Returns an Arrow type in which the types of a column take the place of ``null``, at any depth.

    Other types stay, and so does ``null`` where the column has another structure, or a type without values in Arrow.
    Fields of structs are found by their names in any case.

    Example: ``list<null>`` in a column of type ``array<struct<a:int>>`` is ``list<struct<a: int32>>``.
    """
    import pyarrow as pa

    if pa.types.is_null(type_):
        return _arrow_type(declared)
    parts = [part for _, part in declared.parts]
    is_list = pa.types.is_list(type_) or pa.types.is_large_list(type_) or pa.types.is_fixed_size_list(type_)
    if is_list and declared.name == "array":
        return pa.list_(pa.field("element", with_types(type_.value_type, parts[0])))
    if pa.types.is_map(type_) and declared.name == "map":
        return pa.map_(with_types(type_.key_type, parts[0]), with_types(type_.item_type, parts[1]))
    if pa.types.is_struct(type_) and declared.name == "struct":
        by_name = {name.lower(): part for name, part in declared.parts}
        fields = [(field, by_name.get(field.name.lower())) for field in type_]
        return pa.struct(
            [field if part is None else field.with_type(with_types(field.type, part)) for field, part in fields]
        )
    return type_


def _arrow_type(declared: TypeTree) -> pa.DataType:
    import pyarrow as pa

    parts = [_arrow_type(part) for _, part in declared.parts]
    if declared.name == "array":
        return pa.list_(pa.field("element", parts[0]))
    if declared.name == "map":
        return pa.map_(*parts)
    if declared.name == "struct":
        return pa.struct([pa.field(name, part) for (name, _), part in zip(declared.parts, parts, strict=True)])
    if declared.name == "decimal":
        return arrow_type(decimal(*declared.sizes))
    if declared.name in ("char", "varchar"):
        return pa.string()
    if declared.name == "binary":
        return pa.binary()
    try:
        return arrow_type(parse_type(declared.name))
    except NotSupportedError:
        return pa.null()
