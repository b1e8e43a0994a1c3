"""What SQL on tables of files cannot do, with the reason; everything else that SQLAlchemy's suite can test is open.

The properties that this class does not list are open in SQLAlchemy's own class, or follow from the dialect's flags.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy.testing import exclusions
from sqlalchemy.testing.requirements import SuiteRequirements

#: Reason → the requirements that it closes.
CLOSED = {
    "files have no keys and no constraints, and nothing generates values": (
        "on_update_cascade recursive_fk_cascade "
        "named_constraints implicitly_named_constraints primary_key_constraint_reflection "
        "foreign_key_constraint_reflection unique_constraint_reflection index_reflection indexes_with_ascdesc "
        "reflect_indexes_with_ascdesc duplicate_key_raises_integrity_error autoincrement_insert "
        "autoincrement_without_sequence temp_table_reflect_indexes"
    ),
    "UPDATE and DELETE are refused: partitions are rewritten by INSERT OVERWRITE": ("update_where_target_in_subquery"),
    "names of tables consist of letters, digits and underscores": (
        "unusual_column_name_characters symbol_names_w_double_quote"
    ),
    "there is no type TIME": "time time_microseconds time_implicit_bound",
    "DuckDB has no columns of the type BINARY here": "binary_comparisons binary_literals",
}

#: Closed in SQLAlchemy's class for safety, and open here.
OPEN = (
    "create_table_as create_temp_table_as table_ddl_if_exists uuid_data_type table_value_constructor "
    "boolean_col_expressions nullsordering intersect except_ window_functions window_range ctes nvarchar_types "
    "default_schema_name_switch tuple_in tuple_in_w_empty views schema_create_delete implicit_default_schema "
    "comment_reflection comment_reflection_full_unicode temp_table_names has_temp_table temporary_views "
    "create_or_replace_view temp_table_comment_reflection unicode_ddl datetime_literals datetime_timezone "
    "timestamp_microseconds datetime_historic datetime_timezone_historic date_historic autocommit "
    "skip_autocommit_rollback isolation_level precision_numerics_enotation_small infinity_floats "
    "aggregate_order_by float_or_double_precision_behaves_generically mod_operator_as_percent_sign "
    "order_by_label_with_expression regexp_match regexp_replace fetch_first fetch_no_order_by fetch_expression "
    "reflect_table_options supports_bitwise_or supports_bitwise_and supports_bitwise_not supports_bitwise_xor "
    "supports_bitwise_shift precision_numerics_retains_significant_digits ctes_with_values"
)

#: Beginnings of the names of tests that no requirement closes, with the reason.
SKIPPED = {
    "QuotedNameArgumentTest": "names of tables consist of letters, digits and underscores",
    "BizarroCharacterTest::test_reflect_comments[(2)": "names of tables consist of letters, digits and underscores",
    "BizarroCharacterTest::test_reflect_comments[[brackets]": (
        "names of tables consist of letters, digits and underscores"
    ),
    "BizarroCharacterTest::test_reflect_comments[per % cent": (
        "names of tables consist of letters, digits and underscores"
    ),
    "ComponentReflectionTestExtra::test_nullable_reflection": "every column may be NULL",
    "LongNameBlowoutTest::test_long_convention_name[ix": "files have no indexes",
    "WindowFunctionTest::test_window_range": "the test takes rows in an order that its query does not ask for",
    "IsolationLevelTest::test_dialect_user_setting_is_restored": "there is one level beside AUTOCOMMIT",
    "SameNamedSchemaTableTest::test_subquery": "t.x is ambiguous beside s.t.x, in Spark too: give one an alias",
    "TrueDivTest::test_truediv_divisor[numeric_38_digit_divisor": "DuckDB cannot divide decimals of 38 digits as Spark",
    "TrueDivTest::test_truediv_divisor[numeric_tiny_divisor": "DuckDB cannot divide decimals of 38 digits as Spark",
}


def _closed(self: Any) -> Any:
    return exclusions.closed()


def _open(self: Any) -> Any:
    return exclusions.open()


class Requirements(SuiteRequirements):  # type: ignore[misc]
    """Closes and opens the requirements that are listed above."""

    def get_isolation_levels(self, config: Any) -> dict[str, Any]:
        return {"default": "SNAPSHOT", "supported": ["SNAPSHOT", "AUTOCOMMIT"]}


for _names in CLOSED.values():
    for _name in _names.split():
        assert hasattr(SuiteRequirements, _name), _name
        setattr(Requirements, _name, property(_closed))
for _name in OPEN.split():
    assert hasattr(SuiteRequirements, _name), _name
    setattr(Requirements, _name, property(_open))
