"""Queries and INSERT in Spark's SQL."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from sqlalchemy import exc
from sqlalchemy.sql import compiler


class QueryCompiler(compiler.SQLCompiler):
    """Writes the constructs in which Spark differs from SQLAlchemy's standard."""

    def render_literal_value(self, value: Any, type_: Any) -> str:
        """Returns a literal. In Spark's strings a backslash begins an escape."""
        text = super().render_literal_value(value, type_)
        return text.replace("\\", "\\\\") if text.startswith("'") else text

    def visit_empty_set_expr(self, element_types: Any, **kw: Any) -> str:
        nulls = ", ".join("NULL" for _ in element_types)
        return f"SELECT {nulls} WHERE 1 != 1"

    def visit_empty_set_op_expr(self, type_: Any, expand_op: Any, **kw: Any) -> str:
        """Rows of NULLs in a list are not supported on DuckDB, an empty query is."""
        if len(type_) > 1:
            return self.visit_empty_set_expr(type_)
        return self._text(super().visit_empty_set_op_expr, type_, expand_op, **kw)

    def visit_insert(self, insert_stmt: Any, visited_bindparam: Any = None, visiting_cte: Any = None, **kw: Any) -> str:
        """Raises ``CompileError`` where a key that other databases would generate has no value: it would be NULL."""
        if self.column_keys is not None:
            key = _generated_key(insert_stmt.table)
            if key is not None and key.key not in _given(insert_stmt, self.column_keys):
                raise exc.CompileError(
                    f"{key} has no value, and tables generate none: give it one, or a default in Python."
                )
        return self._text(super().visit_insert, insert_stmt, visited_bindparam, visiting_cte, **kw)

    def visit_delete(self, delete_stmt: Any, visiting_cte: Any = None, **kw: Any) -> str:
        """DELETE of all rows is TRUNCATE TABLE. Any other one is refused when it is executed."""
        text = self._text(super().visit_delete, delete_stmt, visiting_cte=visiting_cte, **kw)
        if delete_stmt._where_criteria or delete_stmt._independent_ctes or visiting_cte is not None:
            return text
        return f"TRUNCATE TABLE {self.preparer.format_table(delete_stmt.table)}"

    def limit_clause(self, select: Any, **kw: Any) -> str:
        text = ""
        if select._limit_clause is not None:
            text += "\n LIMIT " + self.process(select._limit_clause, **kw)
        if select._offset_clause is not None:
            text += "\n OFFSET " + self.process(select._offset_clause, **kw)
        return text

    def fetch_clause(
        self,
        select: Any,
        fetch_clause: Any = None,
        require_offset: bool = False,
        use_literal_execute_for_simple_int: bool = False,
        **kw: Any,
    ) -> str:
        """FETCH FIRST n ROWS ONLY is LIMIT n."""
        options = select._fetch_clause_options or {}
        if options.get("percent") or options.get("with_ties"):
            raise exc.CompileError("FETCH … PERCENT and WITH TIES are not supported: use window functions.")
        text = "\n LIMIT " + self.process(select._fetch_clause, **kw)
        if select._offset_clause is not None:
            text += "\n OFFSET " + self.process(select._offset_clause, **kw)
        return text

    def for_update_clause(self, select: Any, **kw: Any) -> str:
        """Nothing: rows are not locked. Of two transactions that write the same partitions, one fails."""
        return ""

    def visit_frame_clause(self, frameclause: Any, **kw: Any) -> str:
        """The distances of a frame are literals."""
        return self._text(super().visit_frame_clause, frameclause, **kw | {"literal_execute": True})

    def visit_regexp_match_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        return f"{self._operand(binary.left, kw)} RLIKE {self._pattern(binary, binary.right, kw)}"

    def visit_not_regexp_match_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        return f"NOT {self._operand(binary.left, kw)} RLIKE {self._pattern(binary, binary.right, kw)}"

    def visit_regexp_replace_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        self._refuse_flags(binary)
        return f"regexp_replace({self._operand(binary.left, kw)}, {self._operand(binary.right, kw)})"

    def visit_aggregate_strings_func(self, fn: Any, **kw: Any) -> str:
        return self._text(super().visit_aggregate_strings_func, fn, use_function_name="listagg", **kw)

    def _text(self, write: Callable[..., Any], *arguments: Any, **kw: Any) -> str:
        """Calls a method of SQLAlchemy's that has no types."""
        return str(write(*arguments, **kw))

    def _operand(self, operand: Any, kw: dict[str, Any]) -> str:
        return self._text(operand._compiler_dispatch, self, **kw)

    def _pattern(self, binary: Any, pattern: Any, kw: dict[str, Any]) -> str:
        self._refuse_flags(binary)
        return self._operand(pattern, kw)

    def _refuse_flags(self, binary: Any) -> None:
        if binary.modifiers.get("flags"):
            raise exc.CompileError("Regular expressions have no flags: write them in the pattern, as in (?i)abc.")


def _generated_key(table: Any) -> Any:
    """Returns the column of the primary key that other databases would generate; ``None`` if there is none."""
    key = getattr(table, "_autoincrement_column", None)
    return key if key is not None and key.default is None and key.server_default is None else None


def _given(insert: Any, keys: Iterable[str]) -> set[str]:
    """Returns the keys of the columns that an INSERT has values for."""
    named = {*keys, *(insert._select_names or ())}
    for values in (insert._values or {}, *(row for rows in insert._multi_values for row in rows)):
        named |= {getattr(column, "key", column) for column in values} if isinstance(values, dict) else set()
    return named if insert.select is None or insert._select_names else named | set(insert.table.c.keys())
