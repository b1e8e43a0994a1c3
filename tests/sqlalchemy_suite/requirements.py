"""What SQL on tables of files cannot do, with the reason; everything else that SQLAlchemy's suite can test is open.

The properties that this class does not list are open in SQLAlchemy's own class, or follow from the dialect's flags.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from sqlalchemy.testing import exclusions
from sqlalchemy.testing.requirements import SuiteRequirements

_KEYS = "no keys, constraints or indexes in tables of files"
_GENERATED = "no generated values: a DEFAULT is a literal of the type of its column"
_NAMES = "names of tables consist of letters, digits and underscores"
_DECIMALS = "on DuckDB, no arithmetic on decimals that needs more than 38 digits, and no RANGE over DOUBLE"

#: Reason → the requirements that it closes.
CLOSED = {
    _KEYS: (
        "on_update_cascade recursive_fk_cascade named_constraints implicitly_named_constraints "
        "primary_key_constraint_reflection foreign_key_constraint_reflection unique_constraint_reflection "
        "index_reflection indexes_with_ascdesc reflect_indexes_with_ascdesc duplicate_key_raises_integrity_error "
        "temp_table_reflect_indexes index_ddl_if_exists foreign_keys_reflect_as_index "
        "unique_index_reflect_as_unique_constraints unique_constraints_reflect_as_index non_updating_cascade "
        "deferrable_fks repeated_column_foreign_keys repeated_remote_col_foreign_keys cross_schema_fk_reflection "
        "foreign_key_constraint_name_reflection reflects_pk_names constraint_comment_reflection "
        "check_constraint_reflection inline_check_constraint_reflection "
        "foreign_key_constraint_option_reflection_ondelete fk_constraint_option_reflection_ondelete_restrict "
        "fk_constraint_option_reflection_ondelete_noaction foreign_key_constraint_option_reflection_onupdate "
        "fk_constraint_option_reflection_onupdate_restrict index_reflects_included_columns "
        "reflect_indexes_with_ascdesc_as_expression indexes_check_column_order indexes_with_expressions "
        "reflect_indexes_with_expressions"
    ),
    _GENERATED: (
        "autoincrement_insert autoincrement_without_sequence emulated_lastrowid "
        "emulated_lastrowid_even_with_sequences dbapi_lastrowid server_defaults expression_server_defaults "
        "computed_columns computed_columns_stored computed_columns_virtual computed_columns_default_persisted "
        "computed_columns_reflect_persisted identity_columns identity_columns_standard"
    ),
    "no UPDATE, no DELETE of single rows, no RETURNING": (
        "update_where_target_in_subquery update_from delete_from ctes_with_update_delete ctes_on_dml "
        "sane_rowcount sane_multi_rowcount sane_rowcount_w_returning insert_returning update_returning "
        "delete_returning insert_executemany_returning insertmanyvalues"
    ),
    _NAMES: ("unusual_column_name_characters symbol_names_w_double_quote percent_schema_names"),
    "no columns of the types TIME, JSON, INTERVAL": (
        "time time_microseconds time_implicit_bound time_timezone json_type json_array_indexes "
        "legacy_unconditional_json_extract datetime_interval window_range_non_numeric"
    ),
    "no parameters of the types BINARY and ARRAY": ("binary_comparisons binary_literals array_type"),
    _DECIMALS: (
        "precision_numerics_many_significant_digits cast_precision_numerics_many_significant_digits "
        "window_range_numeric"
    ),
    "not in Spark's SQL": (
        "savepoints two_phase_transactions supports_distinct_on fetch_percent fetch_ties "
        "fetch_offset_with_options materialized_views materialized_views_reflect_pk column_collation_reflection "
        "reflect_tables_no_columns sequences sequences_optional server_side_cursors supports_lastrowid "
        "empty_inserts empty_inserts_executemany denormalized_names order_by_collation"
    ),
}

#: Closed in SQLAlchemy's class for safety, and open here.
OPEN = (
    "create_table_as create_temp_table_as table_ddl_if_exists uuid_data_type table_value_constructor "
    "boolean_col_expressions nullsordering intersect except_ window_functions window_range ctes nvarchar_types "
    "default_schema_name_switch tuple_in tuple_in_w_empty views schema_create_delete "
    "implicit_default_schema comment_reflection comment_reflection_full_unicode temp_table_names has_temp_table "
    "temporary_views create_or_replace_view temp_table_comment_reflection unicode_ddl datetime_literals "
    "datetime_timezone timestamp_microseconds datetime_historic datetime_timezone_historic date_historic autocommit "
    "skip_autocommit_rollback isolation_level precision_numerics_enotation_small infinity_floats "
    "aggregate_order_by float_or_double_precision_behaves_generically mod_operator_as_percent_sign "
    "order_by_label_with_expression regexp_match regexp_replace fetch_first fetch_no_order_by fetch_expression "
    "reflect_table_options supports_bitwise_or supports_bitwise_and supports_bitwise_not supports_bitwise_xor "
    "supports_bitwise_shift precision_numerics_retains_significant_digits ctes_with_values"
)

#: Beginnings of the names of tests that no requirement closes, with the reason.
SKIPPED = {
    "InsertBehaviorTest::test_insert_from_select_autoinc": _GENERATED,
    "InsertBehaviorTest::test_insert_from_select_autoinc_no_rows": _GENERATED,
    "InsertBehaviorTest::test_no_results_for_non_returning_insert": _GENERATED,
    "QuotedNameArgumentTest": _NAMES,
    "BizarroCharacterTest::test_reflect_comments[(2)": _NAMES,
    "BizarroCharacterTest::test_reflect_comments[[brackets]": _NAMES,
    "BizarroCharacterTest::test_reflect_comments[per % cent": _NAMES,
    "ComponentReflectionTestExtra::test_nullable_reflection": "every column may be NULL",
    "LongNameBlowoutTest::test_long_convention_name[ix": _KEYS,
    "WindowFunctionTest::test_window_range": "the test takes rows in an order that its query does not ask for",
    "IsolationLevelTest::test_dialect_user_setting_is_restored": "there is one level beside AUTOCOMMIT",
    "SameNamedSchemaTableTest::test_subquery": "t.x is ambiguous beside s.t.x, in Spark too: give one an alias",
    "TrueDivTest::test_truediv_divisor[numeric_38_digit_divisor": _DECIMALS,
    "TrueDivTest::test_truediv_divisor[numeric_tiny_divisor": _DECIMALS,
}


class Requirements(SuiteRequirements):  # type: ignore[misc]
    """Closes and opens the requirements that are listed above."""

    def get_isolation_levels(self, config: Any) -> dict[str, Any]:
        return {"default": "SNAPSHOT", "supported": ["SNAPSHOT", "AUTOCOMMIT"]}


def _set(name: str, rule: Any) -> None:
    assert hasattr(SuiteRequirements, name), name
    setattr(Requirements, name, property(lambda self: rule()))


def _closed(reason: str) -> Any:
    return exclusions.skip_if(exclusions.BooleanPredicate(True, reason))


for _reason, _names in CLOSED.items():
    for _name in _names.split():
        _set(_name, partial(_closed, _reason))
for _name in OPEN.split():
    _set(_name, exclusions.open)
