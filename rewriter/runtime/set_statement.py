"""SET and RESET."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rewriter.catalog.clusters.definitions import CLUSTER_KEYS, clusters_of
from rewriter.catalog.model.objects import Column
from rewriter.errors import Error
from rewriter.grammar.families.settings import ResetSetting, SetSetting
from rewriter.runtime.cluster_engines import effective_properties
from rewriter.runtime.result import Result, Row, listing, strings
from rewriter.runtime.settings import SessionSettings, effect_warning


def run_set(
    statement: SetSetting | ResetSetting, settings: SessionSettings, properties: Callable[[], Mapping[str, str]]
) -> Result:
    """Runs SET or RESET. Returns the setting's value, or all settings. Raises the errors of ``SessionSettings`` at the
    statement. ``properties`` returns the properties of the catalog, which the session may override.
    """
    before = settings.copy()
    try:
        result = _run(statement, settings)
        if statement.key is not None and statement.key.lower() in CLUSTER_KEYS:
            clusters_of(effective_properties(properties(), settings))
        return result
    except Error as error:
        settings.take(before)
        raise error.at(statement.span) from None


def _run(statement: SetSetting | ResetSetting, settings: SessionSettings) -> Result:
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
