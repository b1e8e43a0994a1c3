"""Definitions of tables, views and databases in Spark's SQL.

Constraints and indexes of a ``Table`` describe it for SQLAlchemy, and nothing enforces them: tables of files have none.
Values that would have to be generated (computed columns, identity) are refused.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import exc
from sqlalchemy.sql import compiler, sqltypes


class DefinitionCompiler(compiler.DDLCompiler):
    """Writes CREATE, DROP and COMMENT. An empty statement is not executed."""

    def get_column_specification(self, column: Any, **kwargs: Any) -> str:
        if column.computed is not None or column.identity is not None:
            raise exc.CompileError("No column is computed or generated: give its values in INSERT.")
        text = self.preparer.format_column(column)
        text += " " + self.dialect.type_compiler_instance.process(column.type, type_expression=column)
        default = self.get_column_default_string(column)
        if default is not None:
            text += f" DEFAULT {default}"
        if column.comment is not None:
            text += f" COMMENT {self._string(column.comment)}"
        return text

    def post_create_table(self, table: Any) -> str:
        options = table.dialect_options["rewriter"]
        text = ""
        if options["format"] is not None:
            text += f"\nUSING {self.preparer.quote(options['format'])}"
        if options["partitioned_by"]:
            names = (table.c[name] if isinstance(name, str) else name for name in options["partitioned_by"])
            text += f"\nPARTITIONED BY ({', '.join(map(self.preparer.format_column, names))})"
        if options["location"] is not None:
            text += f"\nLOCATION {self._string(options['location'])}"
        if table.comment is not None:
            text += f"\nCOMMENT {self._string(table.comment)}"
        if options["properties"]:
            pairs = (f"{self._string(key)} = {self._string(value)}" for key, value in options["properties"].items())
            text += f"\nTBLPROPERTIES ({', '.join(pairs)})"
        return text

    def visit_primary_key_constraint(self, constraint: Any, **kw: Any) -> Any:
        return None

    def visit_foreign_key_constraint(self, constraint: Any, **kw: Any) -> Any:
        return None

    def visit_unique_constraint(self, constraint: Any, **kw: Any) -> Any:
        return None

    def visit_check_constraint(self, constraint: Any, **kw: Any) -> Any:
        return None

    def visit_column_check_constraint(self, constraint: Any, **kw: Any) -> Any:
        return ""

    def visit_create_index(self, create: Any, *args: Any, **kw: Any) -> str:
        return ""

    def visit_drop_index(self, drop: Any, **kw: Any) -> str:
        return ""

    def _string(self, value: str) -> str:
        return self.sql_compiler.render_literal_value(value, sqltypes.String())
