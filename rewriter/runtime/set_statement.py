"""SET and RESET."""

from __future__ import annotations

from rewriter.catalog.model.objects import Column
from rewriter.errors import Error
from rewriter.grammar.families.settings import ResetSetting, SetSetting
from rewriter.runtime.result import Result, Row, listing, strings
from rewriter.runtime.settings import SessionSettings, effect_warning


def run_set(statement: SetSetting | ResetSetting, settings: SessionSettings) -> Result:
    """Runs SET or RESET. Returns the setting's value, or all settings. Raises the errors of ``SessionSettings`` at the
    statement.
    """
    try:
        if isinstance(statement, ResetSetting):
            settings.reset(statement.key)
            return Result("RESET")
        rows: list[Row]
        if statement.key is None:
            rows = list(settings.items())
            return listing("SET", strings("key", "value", "meaning"), rows)
        if statement.value is not None:
            settings.set(statement.key, statement.value)
        rows = [(statement.key, settings.get(statement.key))]
        warning = None if statement.value is None else effect_warning(statement.key)
        warnings = () if warning is None else (warning,)
        columns = (Column("key", "string"), Column("value", "string"))
        return Result("SET", columns, rows, rowcount=1, warnings=warnings)
    except Error as error:
        raise error.at(statement.span) from None
